import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, compareRuns, getRunDetails, type RunView } from '../../lib/api.js';
import { cost, duration, number, percent } from '../../lib/format.js';
import { Facts, Page, Panel, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';

const route = getRouteApi('/shell/traces/compare');

type Pair = Readonly<{ name: string } & Record<'a' | 'b', number>>;
type Write = (value: number) => string;

const writeOf = ({ name }: Pair): Write =>
  name.startsWith('Cost') ? cost : name === 'Duration' ? duration : number;
const signed = (value: number, write: Write): string =>
  (value > 0 ? '+' : value < 0 ? '−' : '') + write(Math.abs(value));

const columns: readonly Column<Pair>[] = [
  { name: 'Figure', cut: true, cell: ({ name }) => name },
  { name: 'A', isNumber: true, cell: (pair) => writeOf(pair)(pair.a) },
  { name: 'B', isNumber: true, cell: (pair) => writeOf(pair)(pair.b) },
  { name: 'Change', isNumber: true, cell: (pair) => signed(pair.b - pair.a, writeOf(pair)) },
  { name: 'Share', isNumber: true, cell: ({ a, b }) => (a === 0 ? '–' : signed(b / a - 1, percent)) },
];

/** Parts of a summary, which the API's contract leaves open. */
interface Summary {
  readonly summary: { readonly by_operation: Readonly<Record<string, number>> };
  readonly model_breakdown?: readonly { model: string; count: number; cost: number }[];
}

function figuresOf(run: RunView | null, summary: object): Record<string, number> {
  const { summary: sums, model_breakdown: models = [] } = summary as Summary;
  const named = Object.entries({
    ...{ Duration: run?.duration_ms, Cost: run?.cost, Errors: run?.error_count },
    ...{ 'Input tokens': run?.input_tokens, 'Output tokens': run?.output_tokens, Calls: run?.llm_calls },
  }).map(([name, value]) => [name, value ?? 0] as const);
  const costs = models.map((each) => [`Cost of ${each.model}`, each.cost] as const);
  const calls = models.map((each) => [`Calls of ${each.model}`, each.count] as const);
  const spans = Object.entries(sums.by_operation).map(([name, each]) => [`Spans of ${name}`, each] as const);
  return Object.fromEntries([...named, ...costs, ...calls, ...spans]);
}

const RunLink = ({ run }: { readonly run: RunView }): ReactNode => (
  <Link to="/traces/$id" params={{ id: run.trace_ids[0] ?? '' }}>
    {run.root_operation} {run.run_id}
  </Link>
);

/** Changes as a factor: what only one run has comes first. */
const changeOf = ({ a, b }: Pair): number => (a === b ? 1 : Math.max(a, b) / Math.min(a, b));

/** Figures of two runs beside each other, the most changed first. */
export function ComparePage(): ReactNode {
  const { a = '', b = '' } = route.useSearch();
  const query = useQuery({
    queryKey: ['traces', 'compare', a, b],
    queryFn: async ({ signal }) => {
      const summaries = await ask(compareRuns({ query: { a, b }, signal }));
      const runs = [a, b].map(async (id) => (await ask(getRunDetails({ path: { id }, signal }))).data);
      const [one = null, other = null] = await Promise.all(runs);
      const [before, after] = [figuresOf(one, summaries.a), figuresOf(other, summaries.b)];
      const names = Object.keys({ ...before, ...after });
      const pairs = names.map((name) => ({ name, a: before[name] ?? 0, b: after[name] ?? 0 }));
      return { runs: [one, other], pairs: pairs.sort((x, y) => changeOf(y) - changeOf(x) || 0) };
    },
  });
  return (
    <Page name="Compare runs">
      <Loaded query={query}>
        {({ runs, pairs }) => (
          <Stack>
            <Facts facts={runs.map((run, place) => ['AB'.charAt(place), run && <RunLink run={run} />])} />
            <Panel>
              <Table label="Differences" rows={pairs} columns={columns} keyOf={({ name }) => name} />
            </Panel>
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}
