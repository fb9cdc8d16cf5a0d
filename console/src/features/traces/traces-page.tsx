import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { ask, listLabels } from '../../lib/api.js';
import { number } from '../../lib/format.js';
import { labelChoice, labelsIn } from '../../lib/label-filter.js';
import { byOffset } from '../../lib/pages.js';
import { useProjects } from '../../lib/project.js';
import type { tracesSearch } from '../../lib/searches.js';
import { serverUrl } from '../../lib/server-url.js';
import { sinceMoment } from '../../lib/time-range.js';
import { useChange } from '../../lib/use-change.js';
import { CsvLink } from '../../ui/csv-link.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Muted, Note, Page, Panel, Row, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { EmptyList } from '../../ui/empty-list.js';
import { Empty, Loaded, More } from '../../ui/states.js';
import { type GroupQuery, groupsIn, newestFirst } from './groups.js';
import { hourSeconds, TraceTable } from './trace-table.js';
import { TraceNews } from './trace-news.js';

const route = getRouteApi('/shell/traces');

type Search = ReturnType<typeof tracesSearch>;

const pageSize = 100;
const kinds = {
  ...{ agent: 'Agent runs', calls: 'Calls' },
  ...{ assistant: "The assistant's own", all: 'All' },
} as const;
const modes = { run: 'Runs', thread: 'Threads', time: 'Groups' } as const;

const kindOf = ({ kind, thread, trace }: Search): keyof typeof kinds =>
  kind ?? ((thread ?? trace) === undefined ? 'agent' : 'all');

/** The server's filter for an address. */
function queryOf({ group, labels, thread, trace, since, until, ...search }: Search): GroupQuery {
  return {
    ...{ group_by: group ?? 'run', bucket_size: hourSeconds, limit: pageSize },
    ...{ q: search.q, model_name: search.model, status: search.status },
    ...{ min_cost: search.minCost, min_duration_ms: search.minMs },
    has_errors: search.errors && search.errors === 'yes',
    labels: labels === undefined ? undefined : labelsIn(labels),
    thread_ids: thread === undefined ? undefined : [thread],
    trace_ids: trace?.split(','),
    kind: kindOf({ ...search, thread, trace }),
    start_time_min: usOf(sinceMoment(since)),
    start_time_max: usOf(until),
  };
}

const usOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time) * 1_000;

/** Runs, threads or hours, newest first. News waits behind a button, so that the list stands still. */
export function TracesPage(): ReactNode {
  const search = route.useSearch();
  const change = useChange<Search>();
  const { sought, isMixed } = useProjects();
  // Times back from now are computed once, or each drawing would fetch again.
  const query = useMemo(() => queryOf(search), [search]);
  const list = useInfiniteQuery({
    queryKey: ['traces', 'list', query, sought],
    queryFn: ({ pageParam, signal }) => groupsIn(sought, { ...query, offset: pageParam }, signal),
    ...byOffset,
    refetchOnWindowFocus: false,
  });
  const rows = newestFirst(list.data?.pages.flatMap(({ data }) => data) ?? []);
  const total = list.data?.pages[0]?.total ?? 0;
  const isFiltered = Object.keys(search).some((name) => !['group', 'compare', 'project'].includes(name));
  return (
    <Page name="Traces">
      <Stack>
        <Row>
          <Modes
            label="Rows"
            names={modes}
            value={search.group ?? 'run'}
            onChange={(group) => change({ group: group === 'run' ? undefined : group })}
          />
          <Modes label="Kind" names={kinds} value={kindOf(search)} onChange={(kind) => change({ kind })} />
          <Muted>{list.data && `${number(total)} in all`}</Muted>
          <TraceNews query={query} projects={sought} shown={rows} />
        </Row>
        <TraceFilters search={search} query={query} />
        {search.compare && <Note>Select the run to compare with {search.compare}.</Note>}
        <Panel>
          <Loaded query={list} lines={12}>
            {() =>
              rows.length === 0 ? <NoTraces isFiltered={isFiltered} /> : <TraceTable {...{ rows, isMixed }} />
            }
          </Loaded>
        </Panel>
        <More list={list} name={`${number(Math.min(pageSize, total - rows.length))} older ones`} />
      </Stack>
    </Page>
  );
}

const NoTraces = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode => (
  <EmptyList of="traces" isFiltered={isFiltered}>
    <Empty title="No agent runs yet">
      <p>
        Calls that named no trace and no run are behind <em>Calls</em>. Point an OpenTelemetry exporter at{' '}
        <code>{`${serverUrl}/v1/traces`}</code>, or call tools with a run.
      </p>
    </Empty>
  </EmptyList>
);

const filters: readonly Filter[] = [
  { key: 'model', label: 'Model', of: 'texts' },
  { key: 'status', label: 'Status', options: ['success', 'error'] },
  { key: 'errors', label: 'Has errors', options: ['yes', 'no'] },
  { key: 'minCost', label: 'Min cost, $', of: 'numbers' },
  { key: 'minMs', label: 'Min duration, ms', of: 'numbers' },
  { key: 'thread', label: 'Thread', of: 'texts' },
  { key: 'trace', label: 'Trace', of: 'texts' },
];

function TraceFilters({ search, query }: { readonly search: Search; readonly query: GroupQuery }): ReactNode {
  const { sought } = useProjects();
  const labels = useQuery({
    queryKey: ['traces', 'labels', sought],
    queryFn: async ({ signal }) => {
      const of = (project: string | undefined) => ask(listLabels({ query: { limit: 200, project }, signal }));
      const lists = await Promise.all(sought.map(of));
      return [...new Set(lists.flatMap((list) => list.labels.map(({ name }) => name)))];
    },
    staleTime: 60_000,
  });
  const choice = labelChoice(labels.data ?? [], search.labels);
  return (
    <FilterBar
      label="Traces"
      byProject
      text={{ key: 'q', label: 'Search', wide: true }}
      search={search}
      filters={[{ key: 'labels', label: 'Label', ...choice }, ...filters]}
      range={search}
    >
      <CsvLink path="group" query={query} />
    </FilterBar>
  );
}
