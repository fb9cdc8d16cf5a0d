import { Problem } from '../../base/common/errors.js';
import { isUuid } from '../../base/common/ids.js';
import { withoutNulls } from '../../base/common/json.js';
import type { ExecutionView } from '../../records/executions/tool-metrics.dto.js';
import type { ToolMetricsRepository } from '../../records/executions/tool-metrics.repository.js';
import type { ToolMetricsService } from '../../records/executions/tool-metrics.service.js';
import type { AuditLog } from '../../web/auth/audit/audit-log.js';
import { defineTool, whole, words } from '../../web/contract/define-tool.js';
import type { Principal, Reader } from '../../web/contract/principal.js';
import type { Tool } from '../../web/contract/tool.js';
import { endsOf, withinBytes } from './small-answers.js';
import { maxBytes, misuse, traceTool } from './trace-tool.js';

/** Members of the input that filter executions. */
type Filter = 'tool' | 'status' | 'error_type' | 'investigation_id' | 'thread_id' | 'trace_id' | 'since';

/** Input of a tool that may be narrowed to one project. */
export type InProject = { readonly project_id?: string };

/** Max characters of an execution's error in a list, and of that of a single execution. */
const maxListedError = 300;
const maxSingleError = 4_000;
/** Max characters of the reason for a mark. */
const maxReasonLength = 500;

const text = (description: string) => ({ type: 'string', maxLength: 512, description });

/** Options of every tool that reads executions. */
export const readsExecutions = {
  scope: 'metrics:read' as const,
  tags: ['executions'],
  upstream: 'The record of executions',
};

/** Lists executions, with the filters of REST and the members that a model can use. */
export const findExecutionsTool = (metrics: ToolMetricsRepository): Tool =>
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
    answer: async ({ limit, status, tool, error_type: errorType, ...query }, _project, { principal }) => {
      const since = query.since === undefined ? undefined : new Date(query.since);
      if (Number.isNaN(since?.getTime())) throw misuse('since must be a time, such as 2026-01-23T10:30:00Z');
      const { investigation_id: investigationId, thread_id: threadId, trace_id: traceId } = query;
      const withStatus = status === 'failed' ? { failed: true } : { status };
      const filter = { tool, errorType, investigationId, threadId, traceId, since, ...withStatus };
      const reads = metrics.within(readerOf(principal, query));
      const found = await reads.getExecutions({ ...filter, limit: limit + 1 });
      const executions = found.slice(0, limit).map((row) => withoutNulls(membersOf(row, maxListedError)));
      const isCut = found.length > limit;
      return withinBytes(
        { executions, ...(isCut && { _note: 'Older executions were left out; narrow the filter' }) },
        maxBytes,
      );
    },
  });

/** Shows one execution in full. @param consoleUrl without a trailing slash */
export const getExecutionTool = (metrics: ToolMetricsRepository, consoleUrl: string): Tool =>
  traceTool<InProject & { readonly execution_id: string }>({
    ...readsExecutions,
    name: 'get_execution',
    description:
      'Get what happened in one execution of a tool: its outcome, error, timing, errors found in its result, and where it belongs.',
    properties: { executionId: text('The execution') },
    required: ['executionId'],
    answer: async ({ execution_id: id, ...query }, _project, { principal }) => {
      const row = await metrics.within(readerOf(principal, query)).getExecution(id);
      if (!row) throw misuse(`Execution ${id} not found`);
      const { inputSize, outputSize, toolFault, isTest, metadata } = row;
      const { keyId: _keyId, labels: _labels, projectId: _projectId, stderrTail, ...notes } = metadata;
      // Only for admins, because the end of stderr may hold data of other projects' calls.
      const stderr = principal.scopes.has('tools:admin') && stderrTail !== undefined && { stderrTail };
      const details = { toolFault, isTest, inputSize, outputSize, link: `${consoleUrl}/executions/${id}` };
      return withoutNulls({ ...notes, ...stderr, ...membersOf(row, maxSingleError), ...details }) as object;
    },
  });

/** Marks an execution as a semantic failure, as a person does in the console. */
export const markSemanticFailureTool = (metrics: ToolMetricsService, audit: AuditLog): Tool =>
  defineTool<{ readonly executionId: string; readonly reason: string }>({
    name: 'mark_semantic_failure',
    description:
      "Mark an execution whose answer looked right and was not. Its status stays; the tool's health counts it as a semantic failure. The execution's id stands in a span as execution_id.",
    input: {
      type: 'object',
      properties: {
        executionId: { type: 'string', maxLength: 64, description: 'The execution' },
        reason: words(maxReasonLength, 'What was wrong with its answer'),
      },
      required: ['executionId', 'reason'],
      additionalProperties: false,
    },
    annotations: { readOnly: false, idempotent: true, destructive: false, openWorld: false },
    tags: ['traces'],
    semanticErrors: 'off',
    scope: 'tools:admin',
    run: async ({ executionId, reason }, { principal, context: { requestId } }) => {
      if (!isUuid(executionId)) throw misuse('executionId must be the id of an execution');
      const project = await metrics
        .markSemanticFailure(executionId, reason, principal)
        .catch((error: unknown) => {
          throw error instanceof Problem ? misuse(error.detail) : error;
        });
      const { userId, keyId = null } = principal;
      const caller = { userId, keyId, address: null, requestId };
      const target = `tool-metrics/executions/${executionId}`;
      // As the REST route that does the same is recorded.
      await audit.write({ ...caller, action: 'markSemanticFailure', target, project, status: 204, reason });
      return { success: true, executionId };
    },
  });

/** The named project, or all projects that the caller may see. */
export const readerOf = (principal: Principal, { project_id: named }: InProject): Reader =>
  named === undefined ? principal : { projects: [named] };

/** The members of an execution that a model can use. @param maxError max characters of its error */
function membersOf(row: ExecutionView, maxError: number): object {
  const { metricId: executionId, toolName: tool, status, errorType, executionTimeMs: durationMs } = row;
  const { userId, investigationId, runId, traceId, project, semanticFailure: markedAsWrong } = row;
  const error = row.errorMessage && endsOf(row.errorMessage, maxError, 0);
  const { threadId } = row.metadata;
  const startedAt = row.recordedAt.toISOString();
  const outcome = { executionId, tool, status, errorType, error, startedAt, durationMs, markedAsWrong };
  return { ...outcome, userId, investigationId, threadId, runId, traceId, project };
}
