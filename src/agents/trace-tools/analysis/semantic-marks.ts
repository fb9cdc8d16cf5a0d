import { Injectable, Logger } from '@nestjs/common';
import { ExecutionRecorder } from '../../../records/executions/execution-recorder.js';
import { ToolMetricsRepository } from '../../../records/executions/tool-metrics.repository.js';
import { ToolRegistry } from '../../../call/door/tool-registry.js';
import type { ReportedFailure } from '../../../records/spans/ingest/failures.js';
import type { AnalysedSpan, Analysis } from './analysis-answer.js';
import { Problem } from '../../../base/common/errors.js';
import type { AuditLog } from '../../../web/auth/audit/audit-log.js';
import { isUuid } from '../../../base/common/ids.js';
import type { ToolMetricsService } from '../../../records/executions/tool-metrics.service.js';
import { defineTool, words } from '../../../web/contract/define-tool.js';
import type { Tool } from '../../../web/contract/tool.js';
import { misuse } from '../trace-tool.js';

const maxReasonLength = 500;
/** Maximum failures that wait to be searched; others are dropped. */
const maxWaiting = 10_000;

/**
 * Marks executions as semantic failures by what spans tell of them: of tools that say `mark` alone, and only where the span
 * came with the key that had made the call.
 */
@Injectable()
export class SemanticMarks {
  private readonly logger = new Logger(SemanticMarks.name);
  private readonly waiting = new Map<string, ReportedFailure>();
  private isMarking = false;

  constructor(
    private readonly metrics: ToolMetricsRepository,
    private readonly registry: ToolRegistry,
    private readonly recorder: ExecutionRecorder,
  ) {}

  /** Marks failures reported by spans in the background, one execution at a time. */
  add(failures: readonly ReportedFailure[]): void {
    for (const failure of failures) {
      if (this.waiting.size >= maxWaiting) break;
      this.waiting.set(`${failure.executionId} ${failure.keyId}`, failure);
    }
    if (failures.length > 0 && !this.isMarking) void this.markWaiting();
  }

  /** Marks what a model found: a severe issue counts whose quotation stands in the span. */
  async judge({ span_analyses: analyses }: Analysis, spans: readonly AnalysedSpan[]): Promise<void> {
    await this.recorder.catchUp();
    for (const { span_id: id, issues } of analyses) {
      const severe = issues.find((issue) => issue.severity === 'high' && !issue.unverified);
      const span = spans.find((span) => span.span_id === id && span.execution_id !== null);
      if (!severe || !span?.execution_id || !span.key_id) continue;
      const reason = `${severe.explanation}: ${severe.data_snippet}`;
      await this.mark({ executionId: span.execution_id, keyId: span.key_id, reason });
    }
  }

  /** Stores the waiting marks; those that fail are retried with the next ones. */
  private async markWaiting(): Promise<void> {
    this.isMarking = true;
    try {
      while (this.waiting.size > 0) {
        const round = [...this.waiting];
        // A call that was made just now may not be in the database yet.
        await this.recorder.catchUp();
        for (const [key, failure] of round) {
          await this.mark(failure);
          this.waiting.delete(key);
        }
      }
    } catch (error) {
      this.logger.warn({ event: 'marks_failed', error: String(error) }, 'executions could not be marked yet');
    } finally {
      this.isMarking = false;
    }
  }

  private async mark({ executionId: id, keyId, reason }: ReportedFailure): Promise<void> {
    const execution = await this.metrics.getExecution(id);
    if (!execution || execution.semanticFailure !== null || execution.status !== 'success') return;
    const { semanticErrors } = this.registry.find(execution.toolName)?.definition ?? {};
    if (semanticErrors !== 'mark' || execution.metadata.keyId !== keyId) return;
    await this.metrics.markSemanticFailure(id, reason.slice(0, maxReasonLength));
  }
}

/** Marks an execution as one that answered wrongly, as a person does by hand. */
export const markSemanticFailure = (metrics: ToolMetricsService, audit: AuditLog): Tool =>
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
    scope: 'tools:admin',
    run: async ({ executionId, reason }, { principal, context: { requestId } }) => {
      if (!isUuid(executionId)) throw misuse('executionId must be the id of an execution');
      const marked = metrics.markSemanticFailure(executionId, reason, principal);
      const project = await marked.catch((error: unknown) => {
        throw error instanceof Problem ? misuse(error.detail) : error;
      });
      const { userId, keyId = null } = principal;
      const target = `tool-metrics/executions/${executionId}`;
      const act = { action: 'markSemanticFailure', target, project, status: 204, reason };
      await audit.write({ userId, keyId, address: null, requestId, ...act });
      return { success: true, executionId };
    },
  });
