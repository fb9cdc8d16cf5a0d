import { withoutNulls } from '../../base/common/json.js';
import type { ExecutionView } from '../../records/executions/tool-metrics.dto.js';
import type { ToolMetricsRepository } from '../../records/executions/tool-metrics.repository.js';
import { whole } from '../../web/contract/define-tool.js';
import type { Principal, Reader } from '../../web/contract/principal.js';
import type { Tool } from '../../web/contract/tool.js';
import { endsOf, withinBytes } from './small-answers.js';
import { maxBytes, misuse, traceTool } from './trace-tool.js';

type Filter = 'tool' | 'status' | 'error_type' | 'investigation_id' | 'thread_id' | 'trace_id' | 'since';
export type InProject = { readonly project_id?: string };
const text = (description: string) => ({ type: 'string', maxLength: 512, description });
/** Options of every tool that reads executions. */
export const readsExecutions = {
  scope: 'metrics:read' as const,
  tags: ['executions'],
  upstream: 'The record of executions',
};

/** Finds executions as REST does, without what a model cannot use. */
export const findExecutions = (metrics: ToolMetricsRepository): Tool =>
  traceTool<InProject & { readonly [name in Filter]?: string } & { readonly limit: number }>({
    ...readsExecutions,
    name: 'find_executions',
    description:
      'List executions of tools, the newest first: which executions failed, what an investigation, a thread or a trace called. get_execution shows one.',
    properties: {
      tool: text('Only of this tool'),
      status: {
        type: 'string',
        enum: ['failed', 'success', 'error', 'timeout'],
        description: 'failed: error or timeout',
      },
      errorType: text('Only failures of this type, such as tool_error'),
      investigationId: text('Only of this investigation'),
      threadId: text('Only of this thread, such as a conversation'),
      traceId: text('Only of this trace'),
      since: text('Only since then, such as 2026-01-23T10:30:00Z'),
      limit: whole(1, 50, 20, 'Max executions'),
    },
    answer: async ({ limit, status, tool, error_type: errorType, ...query }, _, { principal }) => {
      const since = query.since === undefined ? undefined : new Date(query.since);
      if (Number.isNaN(since?.getTime())) throw misuse('since must be a time, such as 2026-01-23T10:30:00Z');
      const { investigation_id: investigationId, thread_id: threadId, trace_id: traceId } = query;
      const wanted = status === 'failed' ? { failed: true } : { status };
      const filter = { tool, errorType, investigationId, threadId, traceId, since, ...wanted };
      const reads = metrics.within(readerOf(principal, query));
      const found = await reads.getExecutions({ ...filter, limit: limit + 1 });
      const executions = found.slice(0, limit).map((row) => withoutNulls(brief(row, 300)));
      const isCut = found.length > limit;
      return withinBytes(
        { executions, ...(isCut && { _note: 'Older executions were left out; narrow the filter' }) },
        maxBytes - 64,
      );
    },
  });

/** Shows one execution in full. @param consoleUrl without a trailing slash */
export const getExecution = (metrics: ToolMetricsRepository, consoleUrl: string): Tool =>
  traceTool<InProject & { readonly execution_id: string }>({
    ...readsExecutions,
    name: 'get_execution',
    description:
      'Get what happened in one execution of a tool: its outcome, error, timing, errors found in its result, and where it belongs.',
    properties: { executionId: text('The execution') },
    required: ['executionId'],
    answer: async ({ execution_id: id, ...query }, _, { principal }) => {
      const row = await metrics.within(readerOf(principal, query)).getExecution(id);
      if (!row) throw misuse(`Execution ${id} not found`);
      const { inputSize, outputSize, toolFault, isTest, metadata } = row;
      const { keyId: _key, labels: _labels, projectId: _project, stderrTail, ...notes } = metadata;
      // The end of stderr may tell of other projects' calls.
      const stderr = principal.scopes.has('tools:admin') && stderrTail !== undefined && { stderrTail };
      const more = { toolFault, isTest, inputSize, outputSize, link: `${consoleUrl}/executions/${id}` };
      return withoutNulls({ ...notes, ...stderr, ...brief(row, 4_000), ...more }) as object;
    },
  });

/** The named project, or all that the caller may see. */
export const readerOf = (principal: Principal, { project_id: named }: InProject): Reader =>
  named === undefined ? principal : { projects: [named] };

/** The members of an execution that a model can use. @param maxError characters of its error */
function brief(row: ExecutionView, maxError: number): object {
  const { metricId: executionId, toolName: tool, executionTimeMs: durationMs } = row;
  const { status, errorType, userId, investigationId, runId, traceId, semanticFailure: markedAsWrong } = row;
  const error = row.errorMessage && endsOf(row.errorMessage, maxError, 0);
  const { threadId } = row.metadata;
  const startedAt = row.recordedAt.toISOString();
  return {
    ...{ executionId, tool, status, errorType, error, startedAt, durationMs, markedAsWrong, userId },
    ...{ investigationId, threadId, runId, traceId, project: row.project },
  };
}
