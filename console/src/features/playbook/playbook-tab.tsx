import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActButton } from '../../app/act-button.js';
import { type PlaybookView, recordPlaybookOutcome } from '../../lib/api.js';
import { counted, duration, exactTime, number, percent } from '../../lib/format.js';
import { playbookQuery } from '../../lib/playbook-queries.js';
import { Checkbox, Tags, TextField } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Card, Columns, Facts, Note, type Pairs, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { useDone } from '../../ui/toasts.js';
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
  <Card title="When to use it">
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
        ['Previous version', playbook.previous_version],
        ['Stored', exactTime(playbook.created_at)],
        ['By', playbook.created_by],
        ['Id', <code key="id">{playbook.playbook_id}</code>],
        ['Hash', <code key="hash">{playbook.content_hash.slice(0, 16)}…</code>],
      ]}
    />
  </Card>
);

/** Outcomes of using this version, beside what its author expects. */
const Outcomes = ({ playbook }: { readonly playbook: PlaybookView }): ReactNode => (
  <Card
    title="Outcomes"
    actions={
      <ActButton small scope="tools:call" name="Record an outcome">
        {(onClose) => <RecordDialog playbook={playbook} onClose={onClose} />}
      </ActButton>
    }
  >
    <Facts facts={figuresOf(playbook)} />
  </Card>
);

function RecordDialog({
  playbook: { playbook_id: id, version },
  onClose,
}: {
  readonly playbook: PlaybookView;
  readonly onClose: () => void;
}): ReactNode {
  const [success, setSuccess] = useState(true);
  const [execution, setExecution] = useState('');
  const done = useDone('playbooks');
  const body = { success, ...(execution.trim() !== '' && { execution_id: execution.trim() }) };
  return (
    <FormDialog
      title="Record an outcome"
      about={`The outcome of using ${id} ${version}.`}
      name="Record"
      send={(options) => recordPlaybookOutcome({ path: { id, version }, body, ...options })}
      onDone={({ counted: isNew }) => done(isNew ? 'Recorded' : 'Already recorded', id)}
      onClose={onClose}
    >
      <Checkbox label="It remedied the incident" checked={success} onChange={setSuccess} />
      <TextField
        label="Execution"
        value={execution}
        onText={setExecution}
        maxLength={256}
        help="Optional id of your choice. Two outcomes with the same id count once."
      />
    </FormDialog>
  );
}

const enough = 10;

function figuresOf(playbook: PlaybookView): Pairs {
  const { actual_success_rate: rate, total_executions: total, successful_executions: good } = playbook;
  const { expected_success_rate: expected, expected_duration_seconds: seconds } = playbook;
  const caution = total < enough ? `; under ${enough} a rate says little` : '';
  return [
    [
      'Remedied',
      rate === null
        ? 'no outcome was recorded yet'
        : `${percent(rate)}: ${number(good)} of ${counted(total, 'incident')}${caution}`,
    ],
    ['Expected success', expected !== null && percent(expected)],
    ['Expected duration', seconds !== null && duration(seconds * 1_000)],
  ];
}
