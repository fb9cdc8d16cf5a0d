import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, type ExecutionPageView, listExecutions } from '../../lib/api.js';
import type { StreamEvent } from '../../lib/event-stream.js';
import { useTopic } from '../../lib/live.js';
import { byCursor } from '../../lib/pages.js';
import type { executionsSearch } from '../../lib/searches.js';
import { sinceMoment } from '../../lib/time-range.js';

export type Search = ReturnType<typeof executionsSearch>;

const pageSize = 100;

const queryOf = ({ exec: _, investigation, run, user, session, request, ...rest }: Search) => ({
  ...{ ...rest, limit: pageSize },
  ...{ investigationId: investigation, runId: run, userId: user, sessionId: session, requestId: request },
});

/** Executions that match the filters, newest first. */
export function useExecutions(search: Search) {
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
