import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExplainedPlaybookView, SearchExplanationView } from '../../lib/api.js';
import { counted, number } from '../../lib/format.js';
import { explainedSearchQuery } from '../../lib/playbook-queries.js';
import type { playbooksSearch } from '../../lib/searches.js';
import { Tags } from '../../ui/controls.js';
import { FilterText } from '../../ui/filters.js';
import { Card, Facts, Muted, Note, Row, Stack } from '../../ui/layout.js';
import { Select } from '../../ui/select.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { useRowKeys } from '../../ui/use-row-keys.js';
import { CandidatePeek } from './candidate-peek.js';
import { removalNames, sharedWords } from '../../lib/playbook-standing.js';
import css from './search-result.module.css';
import { whatToChange } from './what-to-change.js';

type Search = ReturnType<typeof playbooksSearch>;
type Candidate = ExplainedPlaybookView;

interface SearchResultProps {
  readonly search: Search;
  readonly change: (changes: Partial<Search>) => void;
}

/** Playbooks that an agent would be shown, and those that it would not, each with the reason. */
export function SearchResult({ search, change }: SearchResultProps): ReactNode {
  const answer = useQuery(explainedSearchQuery(search));
  return (
    <Loaded query={answer} lines={10}>
      {(explanation) => <Candidates explanation={explanation} search={search} change={change} />}
    </Loaded>
  );
}

interface CandidatesProps extends SearchResultProps {
  readonly explanation: SearchExplanationView;
}

function Candidates({ explanation, search, change }: CandidatesProps): ReactNode {
  const { candidates, degraded, total_candidates: total } = explanation;
  const navigate = useNavigate();
  const shown = candidates.filter(({ removed_by }) => removed_by === null);
  const ranked = candidates.filter(({ removed_by }) => removed_by !== null && removed_by !== 'no_match');
  const keptOut = ranked.filter(({ removed_by }) => removed_by === (search.by ?? removed_by));
  const strangers = candidates.filter(({ removed_by }) => removed_by === 'no_match');
  const select = (playbook?: string): void => change({ playbook, was: undefined });
  const open = (id: string): void => void navigate({ to: '/playbooks/$id', params: { id } });
  useRowKeys({
    ids: [...shown, ...keptOut, ...strangers].map(({ playbook_id }) => playbook_id),
    ...{ selected: search.playbook, onSelect: select, onOpen: open },
  });
  const rows = {
    keyOf: ({ playbook_id }: Candidate) => playbook_id,
    isSelected: ({ playbook_id }: Candidate) => playbook_id === search.playbook,
    onOpen: ({ playbook_id }: Candidate) => select(playbook_id),
    hasKeys: false,
  };
  const peek = search.playbook !== undefined && (
    <CandidatePeek {...{ search, explanation, id: search.playbook }} onClose={() => select(undefined)} />
  );
  return (
    <>
      <Stack>
        {degraded !== null && <WordsAlone code={degraded} />}
        <Card title={`Shown to an agent: ${number(shown.length)}`} actions={confidenceNote} flush>
          {shown.length === 0 ? (
            <NothingShown search={search} />
          ) : (
            <Table label="Shown to an agent" rows={shown} columns={shownColumns(search.q ?? '')} {...rows} />
          )}
        </Card>
        {ranked.length > 0 && (
          <Card
            title={`Left out: ${number(keptOut.length)}`}
            flush
            actions={<RemovalFilter search={search} change={change} />}
          >
            <Advice candidates={keptOut} />
            <Table
              label="Left out"
              rows={keptOut}
              columns={search.playbook === undefined ? keptOutColumns : shortColumns}
              {...rows}
            />
          </Card>
        )}
        {strangers.length > 0 && <Strangers ids={strangers.map(({ playbook_id }) => playbook_id)} />}
        {total > candidates.length && (
          <Unlisted count={total - candidates.length} id={search.playbook} onAsk={select} />
        )}
      </Stack>
      {peek}
    </>
  );
}

const WordsAlone = ({ code }: { readonly code: string }): ReactNode => (
  <Note tone="warn">
    Words alone decided: the meaning could not be compared (<code>{code}</code>).
  </Note>
);

const RemovalFilter = ({ search, change }: SearchResultProps): ReactNode => (
  <Select
    label="By"
    none="anything"
    value={search.by}
    options={['status', 'label', 'threshold', 'limit']}
    onChange={(by) => change({ by })}
  />
);

const confidenceNote = <Muted>Confidence: how well it fits the query, from 0 to 1</Muted>;
const playbook: Column<Candidate> = {
  ...{ name: 'Playbook', cut: true, isMono: true, width: 240 },
  cell: ({ playbook_id: id }) => <CandidateLink id={id} />,
};
const confidence: Column<Candidate> = {
  name: 'Confidence',
  isNumber: true,
  cell: ({ confidence: value }) => value?.toFixed(2) ?? '–',
};
const shownColumns = (query: string): readonly Column<Candidate>[] => [
  playbook,
  confidence,
  { name: 'Version', width: 92, cell: ({ version }) => version },
  { name: 'Words in common', cell: ({ matched_terms: terms }) => <Tags words={sharedWords(query, terms)} /> },
];
const keptOutBy: Column<Candidate> = {
  name: 'Left out by',
  width: 130,
  cell: ({ removed_by: by }) => by !== null && removalNames[by],
};
/** Columns beside the details panel. */
const shortColumns: readonly Column<Candidate>[] = [playbook, confidence, keptOutBy];
const keptOutColumns: readonly Column<Candidate>[] = [
  ...shortColumns,
  { name: 'Reason', cell: ({ reason }) => `${reason}.` },
];

/** Advice for the playbooks of a list, once for each reason that keeps some of them out. */
function Advice({ candidates }: { readonly candidates: readonly Candidate[] }): ReactNode {
  const removals = [...new Set(candidates.map(({ removed_by }) => removed_by))].filter((by) => by !== null);
  return (
    <div className={css.advice}>
      <Facts facts={removals.map((by) => [`By ${removalNames[by]}`, whatToChange(by)] as const)} />
    </div>
  );
}

const CandidateLink = ({ id }: { readonly id: string }): ReactNode => (
  <Link
    to="/playbooks"
    search={(old) => ({ ...old, playbook: id, was: undefined })}
    replace
    resetScroll={false}
  >
    {id}
  </Link>
);

/** Playbooks that share no word with the query, listed without details. */
const Strangers = ({ ids }: { readonly ids: readonly string[] }): ReactNode => (
  <Card title={`Nothing in common with the query: ${number(ids.length)}`}>
    <Row>
      {ids.map((id) => (
        <CandidateLink key={id} id={id} />
      ))}
    </Row>
  </Card>
);

interface UnlistedProps {
  readonly count: number;
  readonly id: string | undefined;
  readonly onAsk: (id: string | undefined) => void;
}

/** A note that further playbooks are not explained, with a field to request the explanation of one. */
const Unlisted = ({ count, id, onAsk }: UnlistedProps): ReactNode => (
  <Note>
    <Row>
      {counted(count, 'playbook')} more are not listed.
      <FilterText label="Why not the one with the id" value={id} onChange={onAsk} />
    </Row>
  </Note>
);

const NothingShown = ({ search: { q, labels, threshold } }: { readonly search: Search }): ReactNode => (
  <Empty title="An agent is shown nothing">
    <p>
      Look below for the playbook that should be, and what keeps it out; or{' '}
      <Link to="/playbooks/new" search={{ q, labels, threshold }}>
        write one for this query
      </Link>
      .
    </p>
  </Empty>
);
