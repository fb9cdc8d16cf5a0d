import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { number } from '../../lib/format.js';
import { useChange } from '../../lib/use-change.js';
import { columnsOf, executionKey } from '../../ui/execution-table.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Page, Panel, Stack } from '../../ui/layout.js';
import { LongTable } from '../../ui/long-table.js';
import { Empty, Failed, Loaded } from '../../ui/states.js';
import { ExecutionPeek } from './execution-peek.js';
import css from './executions.module.css';
import { type Search, useExecutions } from './use-executions.js';

const route = getRouteApi('/shell/executions');

const filters: readonly Filter[] = [
  { key: 'status', label: 'Status', options: ['success', 'error', 'timeout'] },
  { key: 'tool', label: 'Tool', of: 'tools' },
  { key: 'errorType', label: 'Error', of: 'texts' },
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
        <FilterBar label="Executions" search={search} filters={filters} range={search} />
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
  const columns = useMemo(() => columnsOf(rows), [rows]);
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
        <NoExecutions isFiltered={Object.keys(search).length > 0} />
      ) : (
        <>
          <LongTable
            {...{ label: 'Executions', rows, columns, hasMore, keyOf: executionKey }}
            onNearEnd={isBusy || isFailed ? undefined : () => void more()}
            peek={{ selected: search.exec, select: (exec) => change({ exec }) }}
            onOpen={({ metricId: id }) => void navigate({ to: '/executions/$id', params: { id } })}
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

const NoExecutions = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode =>
  isFiltered ? (
    <Empty title="No executions match these filters" />
  ) : (
    <Empty title="No tool was called yet">
      <p>
        Every call that runs stands here, with its times and its status. <Link to="/tools">Try a tool</Link>.
      </p>
    </Empty>
  );
