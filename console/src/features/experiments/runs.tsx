import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CallFiguresView, ComparisonView, ListedExperimentView } from '../../lib/api.js';
import { jsonOrText } from '../../lib/exact-json.js';
import { evaluationQuery } from '../../lib/experiment-queries.js';
import { cost, duration, number } from '../../lib/format.js';
import type { experimentSearch } from '../../lib/searches.js';
import { useChange } from '../../lib/use-change.js';
import { Badge } from '../../ui/controls.js';
import { JsonText } from '../../ui/json-text.js';
import { LineDiff } from '../../ui/line-diff.js';
import { PanelTabs } from '../../ui/panel-tabs.js';
import { Select } from '../../ui/select.js';
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

const signed = new Intl.NumberFormat('en', { maximumFractionDigits: 1, signDisplay: 'exceptZero' });

/** A column of figures with their changes from the original call. Less is better in all of them. */
const column = (
  name: string,
  figure: 'cost' | 'total_tokens' | 'duration_seconds',
  change: keyof ComparisonView,
  write: (value: number) => string,
): Column<Call> => ({
  ...{ name, isNumber: true, width: 126 },
  cell: ({ figures, comparison }) => {
    const [value, percent] = [figures?.[figure] ?? null, comparison?.[change] ?? null];
    const difference = percent !== null && (
      <small data-change={Math.sign(percent)} className={css.change}>
        {signed.format(percent)} %
      </small>
    );
    return value === null ? '–' : [write(value), ' ', difference];
  },
});

const columns: readonly Column<Call>[] = [
  {
    ...{ name: 'Run', cut: true },
    cell: ({ id, name, status, figures }) => (
      <>
        {status ? (
          <Link to="/experiments/$id" params={{ id }} title={name}>
            {name}
          </Link>
        ) : (
          name
        )}
        <div>{figures ? <code>{figures.model}</code> : status && <Badge state={status} />}</div>
      </>
    ),
  },
  column('Cost', 'cost', 'cost_change_percent', cost),
  column('Tokens', 'total_tokens', 'total_tokens_change_percent', number),
  column('Duration', 'duration_seconds', 'duration_change_percent', (value) => duration(value * 1_000)),
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
export function Runs({ original, runs, ...rest }: RunsProps): ReactNode {
  const evaluations = useQueries({
    queries: runs.map((run) => ({ ...evaluationQuery(run), enabled: run.status === 'completed' })),
  });
  const calls: readonly Call[] = [
    ...(original ? [{ id: 'original', name: 'Original', figures: original }] : []),
    ...runs.map(({ id, name, status }, index) => {
      const { new: figures, comparison } = evaluations[index]?.data ?? {};
      return { id, name, status, figures, comparison };
    }),
  ];
  const answered = calls.filter(({ figures }) => figures);
  return (
    <>
      <div className={css.runs}>
        <Table
          label="Runs"
          rows={calls}
          columns={columns}
          keyOf={({ id }) => id}
          isSelected={({ id }) => id === rest.shown}
        />
      </div>
      {answered.length > 0 && <Answers calls={answered} {...rest} />}
    </>
  );
}

type AnswersProps = Pick<RunsProps, 'shown' | 'search'> & { readonly calls: readonly Call[] };

function Answers({ calls, shown, search }: AnswersProps): ReactNode {
  const change = useChange<typeof search>();
  const now = calls.find(({ id }) => id === shown);
  const others = calls.filter((call) => call !== now);
  const before = others.find(({ id }) => id === search.against) ?? others[0];
  const texts = now && before && { before: textOf(before), after: textOf(now) };
  const view = texts ? (search.view ?? 'difference') : 'answers';
  const difference = texts && (
    <LineDiff label="Difference of the answers" was={before.name} now={now.name} {...texts} />
  );
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
  return (
    <PanelTabs
      label="Answers"
      value={view}
      onChange={(chosen) => change({ view: chosen === 'answers' ? chosen : undefined })}
      tabs={[
        ...(difference ? [{ value: 'difference', name: 'Difference', content: difference } as const] : []),
        { value: 'answers', name: 'Answers', content: answers },
      ]}
      aside={
        view === 'difference' && (
          <Select
            label="Compare with"
            value={before?.id}
            options={others.map(({ id }) => id)}
            names={Object.fromEntries(others.map(({ id, name }) => [id, name]))}
            onChange={(against) => change({ against })}
          />
        )
      }
    />
  );
}

/** Calls of tools are JSON in one line. */
function textOf({ figures }: Call): string {
  const text = figures?.output ?? '';
  const value = jsonOrText(text);
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : text;
}
