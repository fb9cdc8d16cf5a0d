import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, listExecutions } from '../../lib/api.js';
import type { executionsSearch } from '../../lib/searches.js';
import { useChange } from '../../lib/use-change.js';
import { FilterBar, FilterNumber, FilterSelect, FilterText } from '../../ui/filters.js';
import { Page, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { ExecutionList } from './execution-list.js';
import { ExecutionPeek } from './execution-peek.js';

const route = getRouteApi('/shell/executions');

const pageSize = 100;
/** Text filters, by the words of the address. */
const textFilters = [
  ['tool', 'Tool'],
  ['errorType', 'Error type'],
  ['investigation', 'Investigation'],
  ['run', 'Run'],
  ['user', 'User'],
] as const;

type Search = ReturnType<typeof executionsSearch>;

function useExecutions(search: Search) {
  const { tool, status, errorType, investigation, run, user, session, request, since, until, slowMs } =
    search;
  const query = {
    ...{ tool, status, errorType, since, until, slowMs, limit: pageSize },
    ...{ investigationId: investigation, runId: run, userId: user, sessionId: session, requestId: request },
  };
  return useInfiniteQuery({
    queryKey: ['executions', 'list', query],
    queryFn: ({ pageParam, signal }) =>
      ask(listExecutions({ query: { ...query, ...(pageParam !== null && { cursor: pageParam }) }, signal })),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // Each page would be held against all that came before it.
    structuralSharing: false,
    // All that was loaded is not asked for anew by a glance at another window.
    refetchOnWindowFocus: ({ state }) => (state.data?.pages.length ?? 0) < 2,
  });
}

/** All calls that ran, newest first; one is looked at beside the list. */
export function ExecutionsPage(): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = useExecutions(search);
  const change = useChange<Search>();
  const peek = search.exec !== undefined && (
    <ExecutionPeek id={search.exec} onClose={() => change({ exec: undefined })} />
  );
  return (
    <Page name="Executions">
      <Stack>
        <FilterBar label="Executions">
          <FilterSelect
            label="Ended"
            value={search.status}
            options={['success', 'error', 'timeout']}
            onChange={(status) => change({ status })}
          />
          {textFilters.map(([name, label]) => (
            <FilterText
              key={name}
              label={label}
              value={search[name]}
              onChange={(value) => change({ [name]: value })}
            />
          ))}
          <FilterNumber
            label="At least, ms"
            value={search.slowMs}
            onChange={(slowMs) => change({ slowMs })}
          />
        </FilterBar>
        <Loaded query={list} lines={12}>
          {({ pages }) => {
            const rows = pages.flatMap(({ data }) => data);
            if (rows.length === 0) return <NoExecutions isFiltered={Object.keys(search).length > 0} />;
            return (
              <>
                <ExecutionList
                  rows={rows}
                  hasMore={list.hasNextPage}
                  isBusy={list.isFetching}
                  error={list.isFetchNextPageError ? list.error : null}
                  onMore={() => void list.fetchNextPage()}
                  selected={search.exec}
                  onSelect={(exec) => change({ exec })}
                  onOpen={(id) => void navigate({ to: '/executions/$id', params: { id } })}
                />
                {peek}
              </>
            );
          }}
        </Loaded>
      </Stack>
    </Page>
  );
}

const NoExecutions = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode =>
  isFiltered ? (
    <Empty title="No executions match these filters" />
  ) : (
    <Empty title="No tool was called yet">
      <p>
        Every call that runs stands here, with its times and its end. <Link to="/tools">Try a tool</Link>.
      </p>
    </Empty>
  );
