import { canonicalJson, sha256 } from '../common/canonical-json.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import { isToolFault, type ToolOutcome } from '../tool-contract/tool-outcome.js';
import type { ExecutionEvent } from './execution-event.js';
import type { ToolMetric } from './tool-metric.entity.js';

/** What is known of an execution when it starts. */
export interface StartedExecution {
  readonly call: ToolCall;
  readonly recordedAt: Date;
  readonly parametersHash: string;
  readonly inputSize: number;
}

type End = Pick<
  ToolMetric,
  'status' | 'executionTimeMs' | 'errorType' | 'errorMessage' | 'toolFault' | 'outputSize'
> & {
  readonly errorCode?: number;
};

/** Characters kept of what a tool says: the buffer is bounded by records, so a record must be bounded too. */
const maxText = 4_096;

export function startedExecution(call: ToolCall, recordedAt: Date): StartedExecution {
  // Sorting the keys changes no byte count: one serialisation serves both.
  const input = canonicalJson(call.input);
  return { call, recordedAt, parametersHash: sha256(input), inputSize: Buffer.byteLength(input) };
}

export function metricOfOutcome(started: StartedExecution, outcome: ToolOutcome): ToolMetric {
  const { status, executionTimeMs, result } = outcome;
  const error = outcome.status === 'success' ? undefined : outcome.error;
  return metric(started, {
    status,
    executionTimeMs,
    errorType: error?.type ?? null,
    errorMessage: error ? error.message.slice(0, maxText) : null,
    errorCode: error?.code,
    toolFault: isToolFault(error),
    outputSize: started.call.ticket.notes.outputBytes ?? (error ? 0 : jsonBytes(result)),
  });
}

/** The handler itself failed: our bug, not the tool's fault. */
export function metricOfBug(started: StartedExecution, error: unknown): ToolMetric {
  return metric(started, {
    status: 'error',
    executionTimeMs: started.call.ticket.elapsedMs(),
    errorType: 'internal_error',
    errorMessage: (error instanceof Error ? error.message : String(error)).slice(0, maxText),
    toolFault: false,
    outputSize: 0,
  });
}

export function eventOf({ call }: StartedExecution, metric: ToolMetric, at: number): ExecutionEvent {
  return {
    executionId: metric.metricId,
    tool: metric.toolName,
    status: metric.status as ExecutionEvent['status'],
    errorType: (metric.errorType ?? undefined) as ExecutionEvent['errorType'],
    fault: metric.toolFault,
    executionTimeMs: metric.executionTimeMs,
    at,
    test: metric.isTest,
    probe: call.ticket.probe,
  };
}

function metric(started: StartedExecution, { errorCode, ...end }: End): ToolMetric {
  const { call, recordedAt, parametersHash, inputSize } = started;
  const { context, ticket, test = false } = call;
  return {
    metricId: ticket.executionId,
    toolName: ticket.tool.definition.name,
    userId: context.userId,
    sessionId: context.sessionId ?? null,
    requestId: context.requestId,
    investigationId: context.investigationId ?? null,
    runId: context.runId ?? null,
    ...end,
    parametersHash,
    inputSize,
    metadata: metadataOf(call, errorCode),
    isTest: test,
    recordedAt,
  };
}

/** Absent values leave no key behind: JSON drops them. */
function metadataOf({ context, ticket }: ToolCall, errorCode: number | undefined): Record<string, unknown> {
  const { notes } = ticket;
  const { outputBytes: _inItsColumn, ...noted } = notes;
  return {
    ...noted,
    stderrTail: notes.stderrTail?.slice(-maxText),
    errorCode,
    version: ticket.tool.definition.version,
    projectId: context.projectId,
    runId: context.runId,
    threadId: context.threadId,
    labels: context.labels,
    probe: ticket.probe || undefined,
  };
}

/** A result that is no JSON fails where it is answered; its record has no size. */
function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? '');
  } catch {
    return 0;
  }
}
