import type { SpanAttributes, SpanOptions, Tracer } from '../observability/tracing/tracer.js';
import type { Tool } from '../tool-contract/tool.js';
import type { CallRequest } from '../tool-contract/tool-call.js';
import type { CallAnswer, ToolDoor } from './tool-door.js';

/** What callers need of the door. */
export type CallDoor = Pick<ToolDoor, 'call' | 'test'>;

/**
 * The door where traces are wanted: one span for each call, from its arrival to its answer, in the caller's trace.
 * Named and described as OpenTelemetry's conventions for generative AI have it (`execute_tool`).
 */
export class TracedDoor implements CallDoor {
  constructor(
    private readonly door: CallDoor,
    private readonly tracer: Tracer,
  ) {}

  call(request: CallRequest): Promise<CallAnswer> {
    return this.traced(request, () => this.door.call(request));
  }

  test(tool: Tool, request: CallRequest): Promise<CallAnswer> {
    return this.traced(request, () => this.door.test(tool, request));
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
