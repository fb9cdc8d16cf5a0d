import { Problem } from '../../base/common/errors.js';
import { isUuid } from '../../base/common/ids.js';
import type { ToolMetricsService } from '../../records/executions/tool-metrics.service.js';
import { defineTool, words } from '../../web/contract/define-tool.js';
import type { Tool } from '../../web/contract/tool.js';
import { misuse } from './trace-tool.js';

/** Marks an execution as one that answered wrongly, as a person does by hand. */
export const markSemanticFailure = (metrics: ToolMetricsService): Tool =>
  defineTool<{ readonly executionId: string; readonly reason: string }>({
    name: 'mark_semantic_failure',
    description:
      "Mark an execution whose answer looked right and was not. Its status stays; the tool's health counts it as a semantic failure. The execution's id stands in a span as execution_id.",
    input: {
      type: 'object',
      properties: {
        executionId: { type: 'string', maxLength: 64, description: 'The execution' },
        reason: words(500, 'What was wrong with its answer'),
      },
      required: ['executionId', 'reason'],
      additionalProperties: false,
    },
    annotations: { readOnly: false, idempotent: true, destructive: false, openWorld: false },
    tags: ['traces'],
    semanticErrors: 'off',
    refuses: (_, caller) =>
      caller.scopes.has('tools:admin') ? undefined : 'Marking an execution needs the scope tools:admin',
    run: async ({ executionId, reason }) => {
      if (!isUuid(executionId)) throw misuse('executionId must be the id of an execution');
      try {
        await metrics.markSemanticFailure(executionId, reason);
      } catch (error) {
        throw error instanceof Problem ? misuse(error.detail) : error;
      }
      return { success: true, executionId };
    },
  });
