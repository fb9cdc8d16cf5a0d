import { Injectable, Logger } from '@nestjs/common';
import { ExecutionRecorder } from '../../../records/executions/execution-recorder.js';
import { ToolMetricsRepository } from '../../../records/executions/tool-metrics.repository.js';
import { ToolRegistry } from '../../../call/door/tool-registry.js';
import type { ReportedFailure } from '../../../records/spans/ingest/failures.js';
import type { AnalysedSpan, Analysis } from './analysis-answer.js';

/** Max characters of a stored reason. */
const maxReasonLength = 500;
/** Max reported failures that wait for their mark; more are dropped. */
const maxWaiting = 10_000;

/**
 * Marks executions as semantic failures if a span, or a model that analysed it, reports one. Marks only executions of tools
 * with `semanticErrors: 'mark'`, and only if the span was sent with the API key that made the call.
 */
@Injectable()
export class SemanticMarks {
  private readonly logger = new Logger(SemanticMarks.name);
  /** Failures whose executions are not marked yet, by execution and key. */
  private readonly waiting = new Map<string, ReportedFailure>();
  private isMarking = false;

  constructor(
    private readonly metrics: ToolMetricsRepository,
    private readonly registry: ToolRegistry,
    private readonly recorder: ExecutionRecorder,
  ) {}

  /** Marks the executions of failures that spans report, in the background, one at a time. */
  markReported(failures: readonly ReportedFailure[]): void {
    for (const failure of failures) {
      if (this.waiting.size >= maxWaiting) break;
      this.waiting.set(`${failure.executionId} ${failure.keyId}`, failure);
    }
    if (failures.length > 0 && !this.isMarking) void this.markWaiting();
  }

  /** Marks the executions of spans in which a model found an issue of high severity, with a correct quotation. */
  async markAnalysed({ span_analyses: analyses }: Analysis, spans: readonly AnalysedSpan[]): Promise<void> {
    await this.recorder.catchUp();
    for (const { span_id: id, issues } of analyses) {
      const severeIssue = issues.find((issue) => issue.severity === 'high' && !issue.unverified);
      const span = spans.find((each) => each.span_id === id && each.execution_id !== null);
      if (!severeIssue || !span?.execution_id || !span.key_id) continue;
      const reason = `${severeIssue.explanation}: ${severeIssue.data_snippet}`;
      await this.mark({ executionId: span.execution_id, keyId: span.key_id, reason });
    }
  }

  /** Marks the executions of waiting failures in turn. After an error, the rest follows with the next `markReported`. */
  private async markWaiting(): Promise<void> {
    this.isMarking = true;
    try {
      while (this.waiting.size > 0) {
        const failures = [...this.waiting];
        // The execution of a recent call may not be in the database yet.
        await this.recorder.catchUp();
        for (const [key, failure] of failures) {
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

  /** Marks one execution, if the rules of this class allow it and it is not marked yet. */
  private async mark({ executionId: id, keyId, reason }: ReportedFailure): Promise<void> {
    const execution = await this.metrics.getExecution(id);
    if (!execution || execution.semanticFailure !== null || execution.status !== 'success') return;
    const { semanticErrors } = this.registry.find(execution.toolName)?.definition ?? {};
    if (semanticErrors !== 'mark' || execution.metadata.keyId !== keyId) return;
    await this.metrics.markSemanticFailure(id, reason.slice(0, maxReasonLength));
  }
}
