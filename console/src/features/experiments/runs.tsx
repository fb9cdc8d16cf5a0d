import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CallFiguresView, ComparisonView, ListedExperimentView } from '../../lib/api.js';
import { readExactly } from '../../lib/exact-json.js';
import { evaluationQuery } from '../../lib/experiment-queries.js';
import { duration, number } from '../../lib/format.js';
import type { experimentSearch } from '../../lib/searches.js';
import { useChange } from '../../lib/use-change.js';
import { Badge } from '../../ui/controls.js';
import { JsonText } from '../../ui/json-text.js';
import { LineDiff } from '../../ui/line-diff.js';
import { PanelTabs } from '../../ui/panel-tabs.js';
import { type Column, Table } from '../../ui/table.js';
import css from './experiments.module.css';

/** The original call, or a run. */
interface Call {
  readonly id: string;
  readonly name: string;
  readonly status?: ListedExperimentView['status'];
  readonly figures?: CallFiguresView | null | undefined;
  readonly comparison?: ComparisonView | null | undefined;
}

const originalId = 'original';
const precise = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const signed = new Intl.NumberFormat('en', { maximumFractionDigits: 1, signDisplay: 'exceptZero' });

/** A column of figures with their changes from the original call. Less is better in all of them. */
const figures = (
  name: string,
  figure: 'cost' | 'total_tokens' | 'duration_seconds',
  change: keyof ComparisonView,
  write: (value: number) => string,
): Column<Call> => ({
  ...{ name, isNumber: true, width: 126 },
  cell: ({ figures: all, comparison }) => {
    const [value, percent] = [all?.[figure] ?? null, comparison?.[change] ?? null];
    return (
      <>
        {value === null ? '–' : write(value)}{' '}
        {percent !== null && (
          <small data-change={Math.sign(percent)} className={css.change}>
            {signed.format(percent)} %
          </small>
        )}
      </>
    );
  },
});

const columns: readonly Column<Call>[] = [
  {
    ...{ name: 'Run', cut: true },
    cell: ({ id, name, status = 'completed', figures: all }) => (
      <>
        {id === originalId ? (
          name
        ) : (
          <Link to="/experiments/$id" params={{ id }} title={name}>
            {name}
          </Link>
        )}
        <div>{status === 'completed' ? <code>{all?.model}</code> : <Badge state={status} />}</div>
      </>
    ),
  },
  figures('Cost', 'cost', 'cost_change_percent', (value) => `$${precise.format(value)}`),
  figures('Tokens', 'total_tokens', 'total_tokens_change_percent', number),
  figures('Duration', 'duration_seconds', 'duration_change_percent', (value) => duration(value * 1_000)),
];

interface RunsProps {
  /** Null if the runs start from a request of their own. */
  readonly original: CallFiguresView | null;
  readonly runs: readonly ListedExperimentView[];
  /** Id of the run that the screen shows. */
  readonly shown: string | undefined;
  readonly search: ReturnType<typeof experimentSearch>;
}

/** The original call and the runs from it: their figures and their answers. */
export function Runs({ original, runs, shown, search }: RunsProps): ReactNode {
  const evaluations = useQueries({
    queries: runs.map((run) => ({ ...evaluationQuery(run), enabled: run.status === 'completed' })),
  });
  const calls: readonly Call[] = [
    ...(original ? [{ id: originalId, name: 'Original', figures: original }] : []),
    ...runs.map(({ id, name, status }, index) => {
      const { new: after, comparison } = evaluations[index]?.data ?? {};
      return { id, name, status, figures: after, comparison };
    }),
  ];
  return (
    <>
      <div className={css.runs}>
        <Table
          label="Runs"
          asCards
          rows={calls}
          columns={columns}
          keyOf={({ id }) => id}
          isSelected={({ id }) => id === shown}
        />
      </div>
      <Answers calls={calls.filter((call) => call.figures)} shown={shown} search={search} />
    </>
  );
}

interface AnswersProps extends Pick<RunsProps, 'shown' | 'search'> {
  readonly calls: readonly Call[];
}

function Answers({ calls, shown, search }: AnswersProps): ReactNode {
  const change = useChange<typeof search>();
  const now = calls.find(({ id }) => id === shown);
  const others = calls.filter((call) => call !== now);
  const before = others.find(({ id }) => id === search.against) ?? others[0];
  if (calls.length === 0) return null;
  const answers = (
    <div className={css.answers} role="group" aria-label="Answers side by side" tabIndex={0}>
      {calls.map((call) => (
        <section key={call.id} aria-label={call.name}>
          <h3>{call.name}</h3>
          <JsonText label={`Answer of ${call.name}`} value={textOf(call)} />
        </section>
      ))}
    </div>
  );
  const answersTab = { value: 'answers', name: 'Answers', content: answers } as const;
  if (!now || !before) {
    return <PanelTabs label="Answers" value="answers" onChange={() => undefined} tabs={[answersTab]} />;
  }
  const texts = { was: before.name, before: textOf(before), after: textOf(now), now: now.name };
  const difference = <LineDiff label="Difference of the answers" {...texts} />;
  return (
    <PanelTabs
      label="Answers"
      value={search.view ?? 'difference'}
      onChange={(view) => change({ view: view === 'answers' ? view : undefined })}
      tabs={[{ value: 'difference', name: 'Difference', content: difference }, answersTab]}
      aside={
        search.view === undefined && (
          <label className={css.compare}>
            Compare with
            <select value={before.id} onChange={({ target }) => change({ against: target.value })}>
              {others.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )
      }
    />
  );
}

/** Calls of tools are JSON in one line. */
function textOf({ figures: all }: Call): string {
  const text = all?.output ?? '';
  try {
    return /^\s*[[{]/.test(text) ? JSON.stringify(readExactly(text), null, 2) : text;
  } catch {
    return text;
  }
}
