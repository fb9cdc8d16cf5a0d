import { Injectable } from '@nestjs/common';
import type { Refusal } from '../common/errors.js';
import { ToolLog } from '../observability/tool-log.js';
import { type SpanAttributes, Tracer } from '../observability/tracing/tracer.js';
import { type CallEvent, CallEvents, type ExecutedCall } from '../tool-contract/call-events.js';
import type { CachedAnswer } from '../tool-contract/call-ticket.js';
import type { Tool } from '../tool-contract/tool.js';
import type { CallAnswer, CallRequest, ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { CallMetrics } from './call.metrics.js';

/** Reports of calls: spans, counters and log lines. */
@Injectable()
export class CallReports {
  constructor(
    private readonly metrics: CallMetrics,
    private readonly log: ToolLog,
    private readonly tracer: Tracer,
    private readonly events: CallEvents,
  ) {
    events.subscribe((event) => this.ended(event));
  }

  /** False where traces are off: then no work needs to be wrapped in a span. */
  get traced(): boolean {
    return this.tracer.on;
  }

  /** One span from a call's arrival to its answer, named as OpenTelemetry's conventions for generative AI have it. */
  spanOfCall(request: CallRequest, work: () => Promise<CallAnswer>): Promise<CallAnswer> {
    const { tool, context } = request;
    return this.tracer.span(
      `execute_tool ${tool}`,
      attributesOf(request),
      async (span) => {
        const answer = await work();
        const { outcome, replayed } = answer;
        span.set({
          'toolkeeper.execution_id': outcome.executionId,
          'toolkeeper.status': outcome.status,
          'toolkeeper.cached': outcome.cached,
          ...(replayed && { 'toolkeeper.replayed': true }),
        });
        if (outcome.status !== 'success') span.fail(outcome.error.type);
        return answer;
      },
      { kind: 'server', traceparent: context.traceparent },
    );
  }

  /** Around the tool's own work. */
  spanOfExecution(work: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    return this.tracer.span('execution', {}, async (span) => {
      const outcome = await work();
      span.set({ 'toolkeeper.attempts': outcome.attempts });
      if (outcome.status !== 'success') span.fail(outcome.error.type);
      return outcome;
    });
  }

  /** An execution begins. MUST be followed by `executionEnded`. */
  executionStarted({ ticket, context: { requestId } }: ToolCall): void {
    const tool = ticket.tool.definition.name;
    this.metrics.started(tool);
    if (this.log.isVerbose()) this.log.write({ tool, event: 'execute', requestId });
  }

  executionEnded({ ticket, context: { requestId } }: ToolCall): void {
    const tool = ticket.tool.definition.name;
    this.metrics.ended(tool);
    if (this.log.isVerbose())
      this.log.write({ tool, event: 'response', requestId, durationMs: ticket.elapsedMs() });
  }

  /** The outcome of an earlier call with the same idempotency key was given back. */
  replayed(tool: string): void {
    this.metrics.replayed(tool);
  }

  /** @param tool undefined: no tool has the name that was called, or the caller may know nothing about it */
  refused(tool: Tool | undefined, { input, context }: CallRequest, refusal: Refusal): void {
    if (!tool) return this.metrics.refused(undefined, refusal.code);
    this.events.emit({ kind: 'refused', tool: tool.definition.name, input, context, refusal });
  }

  /** The call was answered without an execution. */
  cached({ ticket, input, context }: ToolCall, kept: CachedAnswer): void {
    this.events.emit({ kind: 'cached', tool: ticket.tool.definition.name, input, context, ...kept });
  }

  private ended(event: CallEvent): void {
    switch (event.kind) {
      case 'executed':
        return this.executed(event);
      case 'cached':
        return this.metrics.reused(event.tool, event.how);
      case 'refused':
        return this.metrics.refused(event.tool, event.refusal.code);
    }
  }

  private executed({
    tool,
    status,
    executionTimeMs,
    fault,
    errorType,
    errorCode,
    context,
  }: ExecutedCall): void {
    this.metrics.executed(tool, status, executionTimeMs);
    // The message is the tool's own text and may repeat its input: it is recorded, not logged.
    const error = `${errorType} (${errorCode})`;
    if (fault) this.log.write({ tool, event: 'error', requestId: context.requestId, error });
  }
}

function attributesOf({ tool, context }: CallRequest): SpanAttributes {
  const { requestId, investigationId, runId } = context;
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'toolkeeper.request_id': requestId,
    ...(investigationId !== undefined && { 'toolkeeper.investigation_id': investigationId }),
    ...(runId !== undefined && { 'toolkeeper.run_id': runId }),
  };
}
