import { Injectable, Logger } from '@nestjs/common';
import type { Refusal } from '../common/errors.js';
import { TypedEvents } from '../common/typed-events.js';
import { ToolLog } from '../observability/tool-log.js';
import { type SpanAttributes, Tracer } from '../observability/tracing/tracer.js';
import type { CallContext } from '../tool-contract/call-context.js';
import type { KeptAnswer } from '../tool-contract/call-ticket.js';
import type { Tool } from '../tool-contract/tool.js';
import type { CallAnswer, CallRequest, ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { CallMetrics } from './call.metrics.js';

/** A call that ended without an execution: answered with a kept result, or refused. */
export interface UnrunCall {
  /** The name of a registered tool. */
  readonly tool: string;
  /** The input; for hashes only, never to be kept or told. */
  readonly input: unknown;
  readonly context: CallContext;
  readonly ended: { readonly outcome: ToolOutcome } | { readonly refusal: Refusal };
}

/** Reports of calls: spans, counters and log lines, and an event for each that was not run. */
@Injectable()
export class CallReports {
  private readonly logger = new Logger(CallReports.name);
  /** Said synchronously; a listener that throws fails no call. */
  readonly unrun = new TypedEvents<UnrunCall>((error) => this.logger.error(error));

  constructor(
    private readonly metrics: CallMetrics,
    private readonly log: ToolLog,
    private readonly tracer: Tracer,
  ) {}

  /** One span from a call's arrival to its answer, named as OpenTelemetry's conventions for generative AI have it. */
  call(request: CallRequest, work: () => Promise<CallAnswer>): Promise<CallAnswer> {
    const { tool, context } = request;
    return this.tracer.span(
      `execute_tool ${tool}`,
      attributesOf(request),
      async (span) => {
        const answer = await work();
        const { outcome, replayed } = answer;
        if (replayed) this.metrics.replayed(outcome.tool);
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
  execution(call: ToolCall, work: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    const tool = call.ticket.tool.definition.name;
    const { requestId } = call.context;
    return this.tracer.span('execution', {}, async (span) => {
      this.metrics.started(tool);
      const verbose = this.log.isVerbose();
      if (verbose) this.log.write({ tool, event: 'execute', requestId });
      let status: ToolOutcome['status'] = 'error';
      try {
        const outcome = await work();
        span.set({ 'toolkeeper.attempts': outcome.attempts });
        ({ status } = outcome);
        if (outcome.status !== 'success') {
          span.fail(outcome.error.type);
          // The message is the tool's own text and may repeat its input: it is recorded, not logged.
          const error = `${outcome.error.type} (${outcome.error.code})`;
          if (call.ticket.toolFault) this.log.write({ tool, event: 'error', requestId, error });
        }
        return outcome;
      } finally {
        const durationMs = call.ticket.elapsedMs();
        this.metrics.ended(tool, status, durationMs);
        if (verbose) this.log.write({ tool, event: 'response', requestId, durationMs });
      }
    });
  }

  /** @returns the answer as this call's caller sees it */
  reused({ ticket, input, context }: ToolCall, { outcome, how }: KeptAnswer): ToolOutcome {
    const { tool } = ticket;
    this.metrics.reused(tool.definition.name, how);
    tool.onReuse?.(outcome.result, context);
    this.unrun.emit({ tool: tool.definition.name, input, context, ended: { outcome } });
    const result = tool.asReused ? tool.asReused(outcome.result) : outcome.result;
    return { ...outcome, result, cached: true };
  }

  /** @param tool undefined where there is none of that name */
  refused(tool: Tool | undefined, { input, context }: CallRequest, refusal: Refusal): void {
    const name = tool?.definition.name;
    this.metrics.refused(name, refusal.code);
    if (name !== undefined) this.unrun.emit({ tool: name, input, context, ended: { refusal } });
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
