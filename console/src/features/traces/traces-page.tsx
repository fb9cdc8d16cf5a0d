import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { ask, listGroups, type ListGroupsData, listLabels } from '../../lib/api.js';
import { number } from '../../lib/format.js';
import { labelChoice, labelsIn } from '../../lib/label-filter.js';
import { byOffset } from '../../lib/pages.js';
import type { tracesSearch } from '../../lib/searches.js';
import { serverUrl } from '../../lib/server-url.js';
import { sinceMoment } from '../../lib/time-range.js';
import { useChange } from '../../lib/use-change.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Muted, Note, Page, Panel, Row, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Empty, Loaded, More } from '../../ui/states.js';
import { hourSeconds, TraceTable } from './trace-table.js';
import { TraceNews } from './trace-news.js';

const route = getRouteApi('/shell/traces');

type Search = ReturnType<typeof tracesSearch>;
type TraceQuery = NonNullable<ListGroupsData['query']>;

const pageSize = 100;
const kinds = {
  ...{ agent: 'Agent runs', calls: 'Single calls' },
  ...{ assistant: "The assistant's own", all: 'All' },
} as const;
const modes = { run: 'Runs', thread: 'Threads', time: 'Groups' } as const;

const kindOf = ({ kind, thread, trace }: Search): keyof typeof kinds =>
  kind ?? ((thread ?? trace) === undefined ? 'agent' : 'all');

/** The server's filter for an address. */
function queryOf({ group, labels, thread, trace, since, until, ...search }: Search): TraceQuery {
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
  // Times back from now are computed once, or each drawing would fetch again.
  const query = useMemo(() => queryOf(search), [search]);
  const list = useInfiniteQuery({
    queryKey: ['traces', 'list', query],
    queryFn: ({ pageParam, signal }) => ask(listGroups({ query: { ...query, offset: pageParam }, signal })),
    ...byOffset,
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
  });
  const rows = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const total = list.data?.pages[0]?.pagination.total ?? 0;
  const isFiltered = Object.keys(search).some((name) => name !== 'group' && name !== 'compare');
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
          <TraceNews query={query} shown={rows} />
        </Row>
        <TraceFilters search={search} />
        {search.compare && <Note>Select the run to compare with {search.compare}.</Note>}
        <Panel>
          <Loaded query={list} lines={12}>
            {() => (rows.length === 0 ? <NoTraces isFiltered={isFiltered} /> : <TraceTable rows={rows} />)}
          </Loaded>
        </Panel>
        <More list={list} name={`${number(Math.min(pageSize, total - rows.length))} older ones`} />
      </Stack>
    </Page>
  );
}

const NoTraces = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode =>
  isFiltered ? (
    <Empty title="No traces match these filters" />
  ) : (
    <Empty title="No agent runs yet">
      <p>
        Single calls of tools are behind <em>All</em>. Point an OpenTelemetry exporter at <code>{`${serverUrl}/v1/traces`}</code>, or call a tool with a run,
        thread, session or investigation.
      </p>
    </Empty>
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

function TraceFilters({ search }: { readonly search: Search }): ReactNode {
  const labels = useQuery({
    queryKey: ['traces', 'labels'],
    queryFn: async ({ signal }) =>
      (await ask(listLabels({ query: { limit: 200 }, signal }))).labels.map(({ name }) => name),
    staleTime: 60_000,
  });
  const choice = labelChoice(labels.data ?? [], search.labels);
  return (
    <FilterBar
      label="Traces"
      text={{ key: 'q', label: 'Search', wide: true }}
      search={search}
      filters={[{ key: 'labels', label: 'Label', ...choice }, ...filters]}
      range={search}
    />
  );
}
