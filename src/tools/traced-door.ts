import { Inject, Injectable } from '@nestjs/common';
import { type SpanAttributes, type SpanOptions, Tracer } from '../observability/tracing/tracer.js';
import type { Tool } from '../tool-contract/tool.js';
import type { CallRequest } from '../tool-contract/tool-call.js';
import { type CallAnswer, ToolDoor } from './tool-door.js';
import { tracedExecution, tracedLookup } from './traced-handlers.js';

/**
 * The door where traces are wanted: one span for each call, from its arrival to its answer, in the caller's trace.
 * Named and described as OpenTelemetry's conventions for generative AI have it (`execute_tool`).
 */
@Injectable()
export class TracedDoor extends ToolDoor {
  @Inject(Tracer) private readonly tracer!: Tracer;

  override call(request: CallRequest): Promise<CallAnswer> {
    return this.traced(request, () => super.call(request));
  }

  override test(tool: Tool, request: CallRequest): Promise<CallAnswer> {
    return this.traced(request, () => super.test(tool, request));
  }

  override async onApplicationBootstrap(): Promise<void> {
    await super.onApplicationBootstrap();
    this.enter = tracedExecution(this.tracer, this.enter);
    this.enterCached = tracedLookup(this.tracer, this.enterCached);
  }

  private traced(request: CallRequest, work: () => Promise<CallAnswer>): Promise<CallAnswer> {
    const { tool, context } = request;
    const options: SpanOptions = { kind: 'server', traceparent: context.traceparent };
    return this.tracer.span(
      `execute_tool ${tool}`,
      attributesOf(request),
      async (span) => {
        const answer = await work();
        const { outcome } = answer;
        span.set({
          'toolkeeper.execution_id': outcome.executionId,
          'toolkeeper.status': outcome.status,
          'toolkeeper.cached': outcome.cached,
          ...(answer.replayed && { 'toolkeeper.replayed': true }),
        });
        if (outcome.status !== 'success') span.fail(outcome.error.type);
        return answer;
      },
      options,
    );
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
