import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import {
  ask,
  getAsyncExecution,
  getCircuit,
  getCustomTool,
  getErrorPatterns,
  getExecution,
  getExecutionPayload,
  getHealthOfAllTools,
  getInvestigation,
  getSeries,
  getTool,
  getToolBundleFiles,
  getToolStats,
  getTraceSkeleton,
  listCallers,
  type ListCallersData,
  listGradeChanges,
  listTemplates,
  listCustomToolRevisions,
  listCustomTools,
  listErrors,
  listExecutions,
  listInvestigations,
  listKeys,
  listMcpTools,
  listRecordedTools,
  listReplicas,
  listShownPlaybooks,
  listMcpServers,
  listTools,
  orNull,
  type SystemHealthView,
  type ToolView,
} from './api.js';
import { sinceFirstCall } from './series.js';
import { figuresRange, sinceMoment, type TimeRange } from './time-range.js';

/*
 * Queries that several screens use. The first part of a key is its subject, by which actions and the server's events
 * invalidate queries.
 */

const all = 1_000;
/** Named, so that the tools of a page are listed before this one has connected. */
const kinds = ['builtin', 'custom', 'mcp', 'ui'] as const;

/** Whether a tool has the server's own format, which is that of answers without `format`. */
const isTool = (value: object): value is ToolView => 'kind' in value && 'inputSchema' in value;

export const toolsQuery = queryOptions({
  queryKey: ['tools', 'list'],
  queryFn: async ({ signal }) => {
    const { data } = await ask(listTools({ query: { limit: all, kind: [...kinds] }, signal }));
    return data.filter(isTool);
  },
});

export const toolQuery = (name: string) =>
  queryOptions({
    queryKey: ['tools', 'one', name],
    queryFn: async ({ signal }) => {
      const tool = await ask(getTool({ path: { name }, signal }));
      if (!isTool(tool)) throw new Error('The server sent this tool in the format of another platform.');
      return tool;
    },
  });

/** Virtual MCP servers. Only callers who may create them can list them. */
export const mcpServersQuery = ({ scopes }: { readonly scopes: readonly string[] }) =>
  queryOptions({
    queryKey: ['mcp-servers'],
    queryFn: async ({ signal }) => (await ask(listMcpServers({ query: { limit: all }, signal }))).data,
    enabled: scopes.includes('tools:admin'),
  });

export const customToolsQuery = queryOptions({
  queryKey: ['tools', 'custom'],
  queryFn: async ({ signal }) => (await ask(listCustomTools({ query: { limit: all }, signal }))).data,
});

export const customToolQuery = (name: string) =>
  queryOptions({
    queryKey: ['tools', 'custom', name],
    queryFn: ({ signal }) => ask(getCustomTool({ path: { name }, signal })),
  });

/** The files of a tool's bundle. @param revision absent: the current one */
export const bundleFilesQuery = (tool: string, revision?: number) =>
  queryOptions({
    queryKey: ['tools', 'files', tool, revision],
    queryFn: ({ signal }) => ask(getToolBundleFiles({ path: { name: tool }, query: { revision }, signal })),
  });

/** All tools of an MCP server, also those that cannot be called. */
export const serverToolsQuery = (server: string) =>
  queryOptions({
    queryKey: ['tools', 'of server', server],
    queryFn: ({ signal }) => ask(listMcpTools({ path: { name: server }, signal })),
    refetchInterval: 10_000,
  });

export const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: async ({ signal }) => (await ask(listTemplates({ signal }))).data,
  // Templates change only with the server's version.
  staleTime: Infinity,
});

/** The period of all figures about health, so that a tool's head and its cards agree. */
const healthMs = 15_000;
/** Figures of a period that has ended change no more. */
const liveIn = ({ until }: TimeRange) => ({ refetchInterval: until === undefined && healthMs });

/** The grade of each tool with its figures of the last hour. All screens show this one answer, so that they agree. */
export const healthQuery = queryOptions({
  queryKey: ['health', 'all'],
  queryFn: ({ signal }) => ask(getHealthOfAllTools({ signal })),
  refetchInterval: healthMs,
  // The next screen shows the same figures.
  staleTime: 10_000,
});

/** @returns the report of one tool; null if the server does not know it */
export const reportQuery = (tool: string) => ({
  ...healthQuery,
  select: ({ toolReports }: SystemHealthView) =>
    toolReports.find(({ toolName }) => toolName === tool) ?? null,
});

export const gradeChangesQuery = (tool: string) =>
  queryOptions({
    queryKey: ['health', 'history', tool],
    queryFn: async ({ signal }) =>
      (await ask(listGradeChanges({ path: { tool }, query: { limit: all }, signal }))).data,
  });

const asMoments = ({ since, until }: TimeRange) => ({ since: sinceMoment(since), until });

export const errorPatternsQuery = (tool: string, range = figuresRange({})) =>
  queryOptions({
    queryKey: ['health', 'patterns', tool, range],
    queryFn: ({ signal }) => ask(getErrorPatterns({ path: { tool }, query: asMoments(range), signal })),
    ...liveIn(range),
  });

export const circuitQuery = (tool: string) =>
  queryOptions({
    queryKey: ['health', 'circuit', tool],
    queryFn: ({ signal }) => ask(getCircuit({ path: { tool }, signal })),
    refetchInterval: 5_000,
  });

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

export const statsQuery = (tool: string, range: TimeRange) =>
  queryOptions({
    queryKey: ['health', 'stats', tool, range],
    queryFn: ({ signal }) => ask(getToolStats({ path: { tool }, query: asMoments(range), signal })),
    ...liveIn(range),
  });

export const callersQuery = (
  tool: string,
  range: TimeRange,
  by: NonNullable<ListCallersData['query']>['by'],
) =>
  queryOptions({
    queryKey: ['health', 'callers', tool, range, by],
    queryFn: ({ signal }) => ask(listCallers({ query: { tool, by, ...asMoments(range) }, signal })),
    ...liveIn(range),
  });

export const seriesQuery = (tool: string | undefined, range: TimeRange) =>
  queryOptions({
    queryKey: ['health', 'series', tool, range],
    queryFn: ({ signal }) => ask(getSeries({ query: { tool, ...asMoments(range) }, signal })),
    ...liveIn(range),
    // The old range is drawn until the new one is loaded.
    placeholderData: keepPreviousData,
  });

const nowHours = 5 / 60;

/** Calls of all tools in the last five minutes, and in the hour before. */
export const trafficNowQuery = queryOptions({
  queryKey: ['health', 'now'],
  queryFn: async ({ signal }) => {
    const bucketMs = 60_000;
    const since = hoursAgo(nowHours);
    const [recent, before] = await Promise.all([
      ask(getSeries({ query: { since, bucketMs }, signal })),
      ask(getSeries({ query: { since: hoursAgo(nowHours + 1), until: since, bucketMs }, signal })),
    ]);
    // A young server's time before its first call is no time without calls.
    const [first] = before.total.calls > 0 ? recent.data : sinceFirstCall(recent.data);
    const minutes = Math.max(1, (Date.now() - Date.parse(first?.at ?? since)) / bucketMs);
    return { recent, before, minutes };
  },
  refetchInterval: 15_000,
});

export const executionQuery = (id: string) =>
  queryOptions({
    queryKey: ['executions', 'one', id],
    queryFn: ({ signal }) => ask(getExecution({ path: { id }, signal })),
    // The record of an execution does not change, except for its mark.
    staleTime: 60_000,
  });

/** An asynchronous execution of this caller. */
export const queuedCallQuery = (id: string) =>
  queryOptions({
    queryKey: ['executions', 'queued', id],
    queryFn: ({ signal }) => ask(getAsyncExecution({ path: { id }, signal })),
    refetchInterval: ({ state: { data } }) => (data?.endedAt === null ? 2_000 : false),
  });

export const newestExecutionsQuery = (tool: string) =>
  queryOptions({
    queryKey: ['executions', 'newest', tool],
    queryFn: async ({ signal }) => (await ask(listExecutions({ query: { tool, limit: 20 }, signal }))).data,
    refetchInterval: 10_000,
  });

/** Names of the tools that have executions. */
export const recordedToolsQuery = queryOptions({
  queryKey: ['executions', 'tools'],
  queryFn: async ({ signal }) => (await ask(listRecordedTools({ signal }))).data,
});

/** The newest failures of all tools. */
export const newestFailuresQuery = queryOptions({
  queryKey: ['executions', 'failures'],
  queryFn: async ({ signal }) => (await ask(listErrors({ query: { limit: 8 }, signal }))).data,
  refetchInterval: 10_000,
});

export const revisionsQuery = (tool: string) =>
  queryOptions({
    queryKey: ['tools', 'revisions', tool],
    queryFn: async ({ signal }) =>
      (await ask(listCustomToolRevisions({ path: { name: tool }, query: { limit: 200 }, signal }))).data,
  });

/** The captured payload of an execution; null if none was captured or it has expired. Needs the scope `tools:admin`. */
export const payloadQuery = (id: string) =>
  queryOptions({
    queryKey: ['executions', 'payload', id],
    queryFn: ({ signal }) => orNull(ask(getExecutionPayload({ path: { id }, signal }))),
  });

export const investigationsQuery = queryOptions({
  queryKey: ['investigations', 'list'],
  queryFn: async ({ signal }) => (await ask(listInvestigations({ query: { limit: all }, signal }))).data,
  refetchInterval: 10_000,
});

/** Empty for callers without a key; absent: the project of the screen. */
export interface InvestigationProject {
  readonly project?: string;
}

/** @returns null for an investigation that the server does not know, which has its whole budget left */
export const investigationQuery = (id: string, of: InvestigationProject) =>
  queryOptions({
    queryKey: ['investigations', 'one', id, of],
    queryFn: ({ signal }) => orNull(ask(getInvestigation({ path: { id }, query: of, signal }))),
    refetchInterval: 5_000,
  });

/** The replicas report themselves every 5 s. */
export const replicasQuery = queryOptions({
  queryKey: ['replicas'],
  queryFn: async ({ signal }) => (await ask(listReplicas({ signal }))).data,
  refetchInterval: 5_000,
});

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async ({ signal }) => (await ask(listKeys({ query: { limit: 1_000 }, signal }))).data,
});

export const shownPlaybooksQuery = (investigationId: string) =>
  queryOptions({
    queryKey: ['investigations', 'shown', investigationId],
    queryFn: async ({ signal }) =>
      (await ask(listShownPlaybooks({ query: { investigationId }, signal }))).playbooks,
    refetchInterval: 10_000,
  });

/** The newest calls of an investigation, in the order in which they began. */
export const callsOfQuery = (investigationId: string, limit: number) =>
  queryOptions({
    queryKey: ['executions', 'of investigation', investigationId, limit],
    queryFn: async ({ signal }) => {
      const { data, nextCursor } = await ask(listExecutions({ query: { investigationId, limit }, signal }));
      return { calls: data.toReversed(), hasMore: nextCursor !== null };
    },
    refetchInterval: 5_000,
  });

/** The columns of a trace. They are large, so they are dropped after the screen has converted them. */
export const skeletonQuery = (id: string) =>
  queryOptions({
    queryKey: ['trace', 'skeleton', id],
    queryFn: ({ signal }) => ask(getTraceSkeleton({ path: { id }, signal })),
    structuralSharing: false,
    gcTime: 5_000,
  });
