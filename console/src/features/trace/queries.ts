import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { ask, findById, getRunDetails, listSpans, listTraceWindow } from '../../lib/api.js';
import { byOffset } from '../../lib/pages.js';
import { findIn, type Sought } from '../../lib/project.js';
import { skeletonQuery } from '../../lib/queries.js';
import { traceOf } from './trace.js';
import { TraceStore } from './trace-store.js';

/** A trace with what is seen of it, which stays when spans are added. It is large: it goes soon after the screen. */
export const traceQuery = (id: string) =>
  queryOptions({
    queryKey: ['trace', id, 'open'],
    queryFn: async ({ client, queryKey }) => {
      // The route asks for it while the screen's own code is loaded.
      const view = await client.fetchQuery({ ...skeletonQuery(id), staleTime: 5_000 });
      client.removeQueries({ queryKey: skeletonQuery(id).queryKey });
      return new TraceStore(traceOf(view), client.getQueryData<TraceStore>(queryKey));
    },
    structuralSharing: false,
    staleTime: Infinity,
    gcTime: 10_000,
  });

/** Spans that the server has of a trace. */
export const countSpans = async (id: string): Promise<number> =>
  (await ask(listSpans({ query: { trace_ids: [id], limit: 1 } }))).pagination.total;

/** The run of a trace, with its figures; null if nothing is known of it. */
export const runOfQuery = (traceId: string) =>
  queryOptions({
    queryKey: ['trace', traceId, 'run'],
    queryFn: async ({ signal }) => {
      const { data } = await ask(findById({ query: { id: traceId }, signal }));
      const id = data.find(({ kind }) => kind === 'trace')?.run_id;
      if (id === undefined) return null;
      return (await ask(getRunDetails({ path: { id }, signal }))).data;
    },
    staleTime: 60_000,
  });

/**
 * Where a trace, or the span of an execution, stands: an agent's own span for a call may stand in another trace, and an
 * address without a project may mean any of them.
 */
export const whereaboutsQuery = (ids: readonly string[], projects: Sought) =>
  queryOptions({
    queryKey: ['trace', 'whereabouts', ids, projects],
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(ids.map((id) => findIn(projects, id, signal)));
      return lists.flat().find(({ kind }) => kind === 'execution' || kind === 'trace') ?? null;
    },
  });

/** One span with its attributes. */
export const spanQuery = (trace: string, span: string) =>
  queryOptions({
    queryKey: ['trace', trace, 'span', span],
    queryFn: async ({ signal }) => {
      const query = { span_id: span, limit: 1, texts: true, messages: true };
      return (await ask(listTraceWindow({ path: { id: trace }, query, signal }))).data[0] ?? null;
    },
    staleTime: 60_000,
    gcTime: 60_000,
  });

const spansInLog = 50;

/** Spans with their texts, in the order in which they began. */
export const logQuery = (trace: string, range: { start_time?: number; end_time?: number }) =>
  infiniteQueryOptions({
    queryKey: ['trace', trace, 'log', range],
    queryFn: ({ signal, pageParam }) =>
      ask(
        listSpans({
          query: { trace_ids: [trace], ...range, messages: true, limit: spansInLog, offset: pageParam },
          signal,
        }),
      ),
    ...byOffset,
    staleTime: 60_000,
    gcTime: 60_000,
    structuralSharing: false,
  });
