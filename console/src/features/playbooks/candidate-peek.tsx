import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExplainedPlaybookView, SearchExplanationView } from '../../lib/api.js';
import { explainedSearchQuery } from '../../lib/playbook-queries.js';
import {
  missingWords,
  standingText,
  sharedWords,
  type Standing,
  standingOf,
  standingOfText,
} from '../../lib/playbook-standing.js';
import type { playbooksSearch } from '../../lib/searches.js';
import { usePermission } from '../../lib/session.js';
import { Badge, buttonLook, Tag, Tags } from '../../ui/controls.js';
import { Facts, Note, Row, Stack } from '../../ui/layout.js';
import { Peek } from '../../ui/peek.js';
import { Empty, Loaded } from '../../ui/states.js';
import { whatToChange } from './what-to-change.js';

interface CandidatePeekProps {
  readonly id: string;
  readonly search: ReturnType<typeof playbooksSearch>;
  readonly explanation: SearchExplanationView;
  readonly onClose: () => void;
}

/** The reasons why one playbook stands where it stands, and what would change it. */
export function CandidatePeek({ id, search, explanation, onClose }: CandidatePeekProps): ReactNode {
  const mayWrite = usePermission('playbooks:write');
  const listed = explanation.candidates.find(({ playbook_id }) => playbook_id === id);
  const { q, labels, threshold } = search;
  return (
    <Peek
      label="Playbook"
      open={
        <Row>
          {mayWrite !== 'no' && (
            <Link
              to="/playbooks/$id/edit"
              params={{ id }}
              search={{ q, labels, threshold }}
              className={buttonLook('primary', true)}
            >
              Edit
            </Link>
          )}
          <Link to="/playbooks/$id" params={{ id }} className={buttonLook(undefined, true)}>
            Open
          </Link>
        </Row>
      }
      onClose={onClose}
    >
      {listed ? (
        <Verdict candidate={listed} search={search} standing={standingOf(explanation.candidates, id)} />
      ) : (
        <Unlisted id={id} search={search} />
      )}
    </Peek>
  );
}

/** A playbook beyond those that one answer explains: it is asked for by itself. */
function Unlisted({ id, search }: Pick<CandidatePeekProps, 'id' | 'search'>): ReactNode {
  const alone = useQuery(explainedSearchQuery(search, id));
  return (
    <Loaded query={alone} lines={4}>
      {({ candidates: [candidate] }) =>
        candidate ? (
          <Verdict candidate={candidate} search={search} standing={undefined} />
        ) : (
          <Empty title="There is no such playbook">
            <p>
              None has the id <code>{id}</code>.
            </p>
          </Empty>
        )
      }
    </Loaded>
  );
}

interface VerdictProps {
  readonly candidate: ExplainedPlaybookView;
  readonly search: CandidatePeekProps['search'];
  /** Unknown for a playbook that is asked for by itself. */
  readonly standing: Standing | undefined;
}

function Verdict({ candidate, search: { q = '', was }, standing }: VerdictProps): ReactNode {
  const { playbook_id: id, version, removed_by, reason, lexical, cosine, matched_terms: terms } = candidate;
  const missing = missingWords(q, candidate);
  const before = was === undefined ? undefined : standingOfText(was);
  return (
    <Stack>
      <Row>
        <h2>{id}</h2>
        <Tag>{version}</Tag>
        <Badge
          state={removed_by === null ? 'shown' : 'left out'}
          tone={removed_by === null ? 'good' : 'warn'}
        />
      </Row>
      {before && standing && <BeforeAndNow before={before} now={standing} />}
      <p>{reason}.</p>
      {removed_by !== null && (
        <Note>
          <strong>What to change.</strong> {whatToChange(removed_by)}
        </Note>
      )}
      <Facts
        facts={[
          ['Rank', standing?.rank],
          ['Confidence that it fits', candidate.confidence?.toFixed(2)],
          ['By words', cosine !== null && lexical?.toFixed(2)],
          ['By meaning', cosine?.toFixed(2)],
          ['Words in common', terms.length > 0 && <Tags key="shared" words={sharedWords(q, terms)} />],
          ['Missing words', missing.length > 0 && <Tags key="missing" words={missing} />],
        ]}
      />
    </Stack>
  );
}

/** After a change: where the playbook stood for this query, and where it stands. */
const BeforeAndNow = ({ before, now }: { readonly before: Standing; readonly now: Standing }): ReactNode => (
  <Note tone={now.removed_by === null ? 'good' : 'warn'} alert>
    <Facts
      facts={[
        ['Before', standingText(before)],
        ['Now', standingText(now)],
      ]}
    />
  </Note>
);
