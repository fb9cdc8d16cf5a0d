import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { PlaybookView } from '../../lib/api.js';
import { exactTime } from '../../lib/format.js';
import { playbookQuery } from '../../lib/playbook-queries.js';
import { Tags } from '../../ui/controls.js';
import { Card, Columns, Facts, Note, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { Outcomes } from './outcomes.js';
import { Procedure } from './procedure.js';
import { StatusCard } from './status-card.js';

const route = getRouteApi('/shell/playbooks/$id/');

/** One version: when it fits, what is to be done, what came of it, and whether agents find it. */
export function PlaybookTab(): ReactNode {
  const { id } = route.useParams();
  const { v } = route.useSearch();
  const playbook = useQuery(playbookQuery(id, v));
  return <Loaded query={playbook}>{(data) => <Version playbook={data} />}</Loaded>;
}

function Version({ playbook }: { readonly playbook: PlaybookView }): ReactNode {
  const { playbook_id: id, version, content, is_latest_version, deprecation_notice } = playbook;
  return (
    <Stack>
      {!is_latest_version && (
        <Note tone="warn">
          This is version {version}; agents never find it.{' '}
          <Link to="/playbooks/$id" params={{ id }}>
            The latest
          </Link>
        </Note>
      )}
      {deprecation_notice !== null && <Note tone="warn">Deprecated: {deprecation_notice}</Note>}
      <Columns>
        <WhenItFits playbook={playbook} />
        <Stack>
          <StatusCard playbook={playbook} />
          <Outcomes playbook={playbook} />
          <Origin playbook={playbook} />
        </Stack>
      </Columns>
      <Card title="Procedure" flush>
        <Procedure content={content} />
      </Card>
    </Stack>
  );
}

const WhenItFits = ({ playbook }: { readonly playbook: PlaybookView }): ReactNode => (
  <Card title="When it fits">
    <Facts
      facts={[
        ['Use it when', playbook.when_to_use],
        ['Not when', playbook.when_not_to_use],
        ['Signals', playbook.signals.length > 0 && <Tags key="signals" words={playbook.signals} />],
        ['Also called', playbook.aliases.length > 0 && <Tags key="aliases" words={playbook.aliases} />],
        ['Labels', <Tags key="labels" words={labelsOf(playbook)} />],
        ['Owner', playbook.owner],
        ['Maintainer', playbook.maintainer],
      ]}
    />
  </Card>
);

function labelsOf({ labels }: PlaybookView): string[] {
  const texts = Object.entries(labels).map(([name, values]) => `${name}: ${[values].flat().join(', ')}`);
  return texts.length === 0 ? ['any situation'] : texts;
}

const Origin = ({ playbook }: { readonly playbook: PlaybookView }): ReactNode => (
  <Card title={`Version ${playbook.version}`}>
    <Facts
      facts={[
        ['What changed', playbook.change_summary],
        ['Notes', playbook.version_notes],
        ['Follows', playbook.previous_version],
        ['Stored', exactTime(playbook.created_at)],
        ['By', playbook.created_by],
        ['Id', <code key="id">{playbook.playbook_id}</code>],
        ['Hash', <code key="hash">{playbook.content_hash.slice(0, 16)}…</code>],
      ]}
    />
  </Card>
);
