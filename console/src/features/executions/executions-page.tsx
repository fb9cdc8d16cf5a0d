import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { ask, type ExecutionPageView, listExecutions } from '../../lib/api.js';
import type { StreamEvent } from '../../lib/event-stream.js';
import { number } from '../../lib/format.js';
import { useTopic } from '../../lib/live.js';
import { byCursor } from '../../lib/pages.js';
import { useProjects } from '../../lib/project.js';
import { executionQuery } from '../../lib/queries.js';
import type { executionsSearch } from '../../lib/searches.js';
import { sinceMoment } from '../../lib/time-range.js';
import { useChange } from '../../lib/use-change.js';
import { buttonLook } from '../../ui/controls.js';
import { CsvLink } from '../../ui/csv-link.js';
import { ExecutionFacts, ExecutionFaults } from '../../ui/execution-facts.js';
import { EmptyList } from '../../ui/empty-list.js';
import { columnsOf, executionKey, without } from '../../ui/execution-table.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Page, Panel, Stack } from '../../ui/layout.js';
import { LongTable } from '../../ui/long-table.js';
import { Peek } from '../../ui/peek.js';
import { Empty, Failed, Loaded } from '../../ui/states.js';
import css from './executions.module.css';

const route = getRouteApi('/shell/executions');

const filters: readonly Filter[] = [
  { key: 'status', label: 'Status', options: ['success', 'error', 'timeout'] },
  { key: 'tool', label: 'Tool', of: 'tools' },
  { key: 'errorType', label: 'Error', of: 'texts' },
  { key: 'finding', label: 'Finding', options: ['true'], names: { true: 'yes' } },
  { key: 'slowMs', label: 'Min duration, ms', of: 'numbers' },
  { key: 'user', label: 'Caller', of: 'texts' },
  { key: 'investigation', label: 'Investigation', of: 'texts' },
  { key: 'run', label: 'Run', of: 'texts' },
  { key: 'session', label: 'Session', of: 'texts' },
  { key: 'request', label: 'Request', of: 'texts' },
];

/** All calls that ran, newest first; one is looked at beside the list. */
export function ExecutionsPage(): ReactNode {
  const search = route.useSearch();
  const executions = useExecutions(search);
  const change = useChange<Search>();
  const peek = search.exec !== undefined && (
    <ExecutionPeek id={search.exec} onClose={() => change({ exec: undefined })} />
  );
  return (
    <Page name="Executions">
      <Stack>
        <FilterBar label="Executions" byProject search={search} filters={filters} range={search}>
          <CsvLink
            path="tool-metrics/executions"
            query={{ ...queryOf(search), since: sinceMoment(search.since) }}
          />
        </FilterBar>
        <Loaded query={executions.list} lines={12}>
          {() => (
            <>
              <Executions {...executions} search={search} />
              {peek}
            </>
          )}
        </Loaded>
      </Stack>
    </Page>
  );
}

interface ExecutionsProps extends ReturnType<typeof useExecutions> {
  readonly search: Search;
}

function Executions({ list, newer, showNewer, search }: ExecutionsProps): ReactNode {
  const navigate = route.useNavigate();
  const change = useChange<Search>();
  const rows = useMemo(() => list.data?.pages.flatMap(({ data }) => data) ?? [], [list.data]);
  const { isMixed } = useProjects();
  const columns = useMemo(() => columnsOf(rows, without(isMixed)), [rows, isMixed]);
  const {
    hasNextPage: hasMore,
    isFetching: isBusy,
    fetchNextPage: more,
    isFetchNextPageError: isFailed,
  } = list;
  return (
    <Panel>
      {newer > 0 && (
        <button type="button" className={css.newer} onClick={showNewer}>
          {number(newer)} new ↑
        </button>
      )}
      {rows.length === 0 ? (
        <NoExecutions isFiltered={Object.keys(search).some((name) => name !== 'project')} />
      ) : (
        <>
          <LongTable
            {...{ label: 'Executions', rows, columns, hasMore, keyOf: executionKey }}
            onNearEnd={isBusy || isFailed ? undefined : () => void more()}
            peek={{ selected: search.exec, select: (exec) => change({ exec }) }}
            onOpen={({ metricId: id, project }) =>
              void navigate({ to: '/executions/$id', params: { id }, search: { project } })
            }
          />
          <p className={css.foot} role="status">
            {isBusy
              ? 'Loading …'
              : `${number(rows.length)} ${hasMore ? 'loaded; scroll for more' : 'in all'}`}
          </p>
          {isFailed && !isBusy && <Failed error={list.error} retry={() => void more()} />}
        </>
      )}
    </Panel>
  );
}

const NoExecutions = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode => (
  <EmptyList of="executions" isFiltered={isFiltered}>
    <Empty title="No tool was called yet">
      <p>
        Every call that runs is listed here with its time, duration and status.{' '}
        <Link to="/tools">Try a tool</Link>.
      </p>
    </Empty>
  </EmptyList>
);

interface ExecutionPeekProps {
  readonly id: string;
  readonly onClose: () => void;
}

function ExecutionPeek({ id, onClose }: ExecutionPeekProps): ReactNode {
  const execution = useQuery(executionQuery(id));
  const open = (
    <Link
      to="/executions/$id"
      params={{ id }}
      search={{ project: execution.data?.project }}
      className={buttonLook('primary', true)}
    >
      Open
    </Link>
  );
  return (
    <Peek label="Execution" open={open} onClose={onClose}>
      <Loaded query={execution}>
        {(data) => (
          <Stack>
            <ExecutionFaults execution={data} />
            <ExecutionFacts execution={data} />
          </Stack>
        )}
      </Loaded>
    </Peek>
  );
}

type Search = ReturnType<typeof executionsSearch>;

const pageSize = 100;

const queryOf = ({ exec: _, investigation, run, user, session, request, ...rest }: Search) => ({
  ...{ ...rest, limit: pageSize },
  ...{ investigationId: investigation, runId: run, userId: user, sessionId: session, requestId: request },
});

/** Executions that match the filters, newest first. */
function useExecutions(search: Search) {
  const query = queryOf(search);
  const queryKey = ['executions', 'list', query];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      ask(
        listExecutions({ query: { ...query, since: sinceMoment(query.since), cursor: pageParam }, signal }),
      ),
    ...byCursor,
    // Each page would be held against all that came before it.
    structuralSharing: false,
    // A change of the window's focus does not refetch everything that was loaded.
    refetchOnWindowFocus: ({ state }) => (state.data?.pages.length ?? 0) < 2,
  });
  const newer = useNewer(search, list.data?.pages[0]);
  const client = useQueryClient();
  /** Restarts the list with the newest. */
  const showNewer = (): void => {
    client.setQueryData<InfiniteData<ExecutionPageView>>(
      queryKey,
      (old) => old && { pages: old.pages.slice(0, 1), pageParams: old.pageParams.slice(0, 1) },
    );
    void list.refetch();
    window.scrollTo({ top: 0 });
  };
  return { list, newer, showNewer };
}

/** Executions that ended, as the stream announces them. */
interface Announced {
  readonly ended: readonly ({ readonly id: string; readonly durationMs: number } & Readonly<
    Record<string, unknown>
  >)[];
  readonly more: number;
}

const matches = (search: Search, ended: Announced['ended'][number]): boolean => {
  const { limit: _, since: __, until, slowMs = 0, ...wanted } = queryOf(search);
  const isSame = Object.entries(wanted).every(
    ([name, value]) => value === undefined || ended[name] === value,
  );
  return until === undefined && ended.durationMs >= slowMs && isSame;
};

/** The number of executions that ended since the first page was loaded, and match the filters. */
function useNewer(search: Search, first: ExecutionPageView | undefined): number {
  const [counted, setCounted] = useState({ first, count: 0 });
  useTopic('executions', ({ event, data }: StreamEvent) => {
    if (event !== 'executions') return;
    const { ended, more } = JSON.parse(data) as Announced;
    const listed = new Set(first?.data.map(({ metricId }) => metricId));
    const found = ended.filter((each) => !listed.has(each.id) && matches(search, each)).length;
    setCounted((old) => ({ first, count: found + more + (old.first === first ? old.count : 0) }));
  });
  return counted.first === first ? counted.count : 0;
}
