import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { performance } from 'node:perf_hooks';
import { lastValueFrom, type Observable, of } from 'rxjs';
import { Refusal } from '../../base/common/errors.js';
import { InputRequired, maxAskedMs, unanswered } from '../../web/contract/asks.js';
import { CallEvents, type ExecutedCall } from '../../web/contract/call-events.js';
import type { ToolCall } from '../../web/contract/tool-call.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { ExecutionRecorder } from './execution-recorder.js';
import { Buffer } from 'node:buffer';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { messageOf } from '../../base/common/message-of.js';
import type { CallContext } from '../../web/contract/tool.js';
import type { CapturedPayload, ExecutionEnd, ExecutionStart } from './execution-record.js';
import { readLength, type ResultToRead } from './semantic/result-reader.js';

/**
 * Records an execution: its start before the tool gets the call, its end before the caller is answered. A cached
 * answer is no execution. Holds no state: Nest makes an instance for each use. The handler is awaited: operators of rxjs
 * around it would allocate 6 KB a call.
 */
@Injectable()
export class ExecutionRecorderInterceptor implements NestInterceptor<ToolOutcome, ToolOutcome> {
  constructor(
    private readonly recorder: ExecutionRecorder,
    private readonly events: CallEvents,
  ) {}

  /** @throws Refusal `recorder_full` if the record cannot be promised */
  async intercept(
    context: ExecutionContext,
    next: CallHandler<ToolOutcome>,
  ): Promise<Observable<ToolOutcome>> {
    const call = context.getArgByIndex<ToolCall>(0);
    const { ticket } = call;
    ticket.recorded = true;
    if (ticket.kept) return next.handle();
    const round = call.asks?.round;
    ticket.startedAtMs = performance.now() - (round?.spentMs ?? 0);
    ticket.startedAt = round?.startedAt ?? Date.now();
    if (!round || !this.recorder.resume(round.executionId)) {
      this.recorder.assertRoom();
      const start = startOf(call, ticket.startedAt);
      if (!(await this.recorder.begin(ticket.executionId, start))) this.recorder.refuse();
    }
    let outcome: ToolOutcome;
    try {
      outcome = await lastValueFrom(next.handle());
    } catch (error) {
      await this.failed(call, error);
      throw error;
    }
    await this.ended(call, endOfOutcome(call, outcome));
    return of(outcome);
  }

  /** The handler itself failed: our bug is an execution that is recorded; a late refusal (the tool stopped) is not. */
  private async failed(call: ToolCall, error: unknown): Promise<void> {
    const { asks, ticket } = call;
    // Refused in a later round, it may come again as long as its state is valid.
    if (error instanceof InputRequired || (error instanceof Refusal && asks?.round))
      this.recorder.suspend(ticket.executionId, endOfSilence(call), maxAskedMs);
    else if (!(error instanceof Refusal)) await this.ended(call, { end: endOfBug(call, error) });
    else this.recorder.discard(call.ticket.executionId);
  }

  /** Resolves when the end is in the journal. */
  private ended(call: ToolCall, { end, errorCode, result }: Ended): Promise<unknown> {
    this.events.emit(eventOf(call, end, errorCode, Date.now()));
    return this.recorder.finish(call.ticket.executionId, end, result);
  }
}

/** Maximum characters of a tool's text. The journal is limited in bytes, so records must be too. */
const maxText = 4_096;

/** Bytes of JSON that are kept of an input, and as many of what it was answered with. */
const maxCapturedBytes = 65_536;
const previewLength = 200;

const usualProject = 'default';
/** Waiting that is not worth a word. */
const unnoticedMs = 1;

/** @param startedAt milliseconds since the epoch */
export function startOf(call: ToolCall, startedAt: number): ExecutionStart {
  const { context, ticket, test, kind } = call;
  // Sorting the keys changes no byte count: one serialisation serves hash and size.
  const input = canonicalJson(call.input);
  return {
    toolName: ticket.tool.definition.name,
    userId: context.userId,
    sessionId: context.sessionId,
    // Usually the request's id is the execution's; then the row takes it from there.
    requestId: context.requestId === ticket.executionId ? undefined : context.requestId,
    investigationId: context.investigationId,
    runId: context.runId,
    ...placeInTrace(ticket.executionId, context),
    parametersHash: sha256(input),
    inputSize: Buffer.byteLength(input),
    isTest: test,
    kind,
    startedAt,
    metadata: {
      version: ticket.tool.definition.version,
      projectId: context.projectId === usualProject ? undefined : context.projectId,
      keyId: call.principal.keyId,
      keyName: call.principal.token?.name,
      clientId: call.principal.token?.client,
      runId: context.runId,
      threadId: context.threadId,
      labels: context.labels,
      probe: ticket.probe || undefined,
      replayOf: call.replayOf,
    },
  };
}

const traceparentForm = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-|$)/;

/**
 * The place of an execution as a span: below the caller's own one; else in a trace of its own, where the call belongs to a
 * run, thread, session or investigation; else it is none.
 */
function placeInTrace(
  executionId: string,
  { traceparent, runId, threadId, sessionId, investigationId }: CallContext,
): Pick<ExecutionStart, 'traceId' | 'parentSpanId'> {
  const [, traceId, parentSpanId] = traceparentForm.exec(traceparent ?? '') ?? [];
  if (traceId !== undefined) return { traceId, parentSpanId };
  const belongs = runId ?? threadId ?? sessionId ?? investigationId;
  return belongs === undefined ? {} : { traceId: executionId.replaceAll('-', '') };
}

/** The end of an execution, and its result where that is to be read for semantic errors. */
export interface Ended {
  readonly end: ExecutionEnd;
  /** JSON-RPC code of the failure. */
  readonly errorCode?: number | undefined;
  readonly result?: ResultToRead | undefined;
}

export function endOfOutcome(call: ToolCall, outcome: ToolOutcome): Ended {
  const written = writtenOf(call, outcome);
  return {
    end: recordOf(call, outcome, written.bytes),
    errorCode: outcome.status === 'success' ? undefined : outcome.error.code,
    result: resultToRead(call, outcome, written.text),
  };
}

function recordOf(call: ToolCall, outcome: ToolOutcome, outputSize: number): ExecutionEnd {
  const { status, executionTimeMs } = outcome;
  const error = outcome.status === 'success' ? undefined : outcome.error;
  return {
    status,
    executionTimeMs,
    errorType: error?.type,
    errorMessage: error?.message.slice(0, maxText),
    toolFault: call.ticket.toolFault || undefined,
    outputSize,
    metadata: notesOf(call, error?.code),
    payload: capturedPayload(call, outcome),
  };
}

/** The handler itself failed: our bug, not the tool's fault. */
export function endOfBug(call: ToolCall, error: unknown): ExecutionEnd {
  return {
    status: 'error',
    executionTimeMs: call.ticket.elapsedMs(),
    errorType: 'internal_error',
    errorMessage: messageOf(error).slice(0, maxText),
    metadata: notesOf(call, undefined),
    payload: capturedPayload(call, undefined),
  };
}

/** Nobody answered the tool's questions. */
const endOfSilence = (call: ToolCall): ExecutionEnd => ({
  ...{ status: 'timeout', errorType: 'timeout', errorMessage: unanswered },
  executionTimeMs: call.ticket.elapsedMs(),
  metadata: notesOf(call, undefined),
});

/** @param at milliseconds since the epoch */
export function eventOf(
  { ticket, test = false, input, context }: ToolCall,
  end: ExecutionEnd,
  errorCode: number | undefined,
  at: number,
): ExecutedCall {
  return {
    kind: 'executed',
    executionId: ticket.executionId,
    tool: ticket.tool.definition.name,
    status: end.status,
    errorType: end.errorType,
    errorCode,
    fault: end.toolFault ?? false,
    executionTimeMs: end.executionTimeMs,
    at,
    test,
    probe: ticket.probe,
    context,
    input,
    outputSize: end.outputSize,
  };
}

/**
 * Absent values leave no key behind: JSON drops them. So does what is usual: each member of a row costs the database as
 * much as a column.
 */
function notesOf({ ticket: { notes } }: ToolCall, errorCode: number | undefined): Record<string, unknown> {
  const { attempts, queueMs = 0, stderrTail } = notes;
  return {
    ...notes,
    attempts: attempts === 1 ? undefined : attempts,
    queueMs: queueMs < unnoticedMs ? undefined : queueMs,
    outputBytes: undefined,
    outputText: undefined,
    stderrTail: stderrTail?.slice(-maxText),
    errorCode,
  };
}

/** The tool's answer as JSON, or the fallback that is sent in its place. */
function writtenOf({ ticket: { notes } }: ToolCall, { status, result }: ToolOutcome): Written {
  const isFallback = status !== 'success' && result !== undefined;
  if (isFallback || notes.outputBytes === undefined) return asJson(result);
  return { bytes: notes.outputBytes, text: notes.outputText ?? '' };
}

interface Written {
  readonly bytes: number;
  readonly text: string;
}

/** A result that is no JSON fails where it is answered; its record has no size. */
function asJson(value: unknown): Written {
  const text = jsonOf(value) ?? '';
  return { bytes: Buffer.byteLength(text), text };
}

function resultToRead(
  { ticket: { tool, executionId } }: ToolCall,
  { status }: ToolOutcome,
  text: string,
): ResultToRead | undefined {
  const { semanticErrors = 'show' } = tool.definition;
  if (status !== 'success' || semanticErrors === 'off' || text === '') return undefined;
  return { executionId, text: text.slice(0, readLength), mark: semanticErrors === 'mark' };
}

/**
 * The part of an execution's end that its tool wants kept; undefined for most tools.
 * @param outcome undefined: the server failed
 */
function capturedPayload(call: ToolCall, outcome: ToolOutcome | undefined): CapturedPayload | undefined {
  const { tool, notes } = call.ticket;
  const { capture } = tool;
  if (!capture || (capture === 'failures' && outcome?.status === 'success')) return undefined;
  const kept: Record<string, unknown> = {};
  const omitted: string[] = [];
  /** @returns the value as JSON, if it is kept */
  const keep = (name: string, value: unknown, bytesAtLeast = 0): string | undefined => {
    const text = bytesAtLeast > maxCapturedBytes ? undefined : jsonOf(value);
    if (text === undefined || Buffer.byteLength(text) > maxCapturedBytes) return void omitted.push(name);
    kept[name] = tool.redact ? tool.redact(value) : value;
    return text;
  };
  const input = keep('input', call.input);
  const line = input && jsonOf(kept['input']);
  // A large result, whose size is known, is not written down to be measured.
  if (outcome?.status === 'success') keep('result', outcome.result, notes.outputBytes);
  else keep('error', outcome?.error ?? null);
  return {
    ...kept,
    preview: line?.slice(0, previewLength) ?? '(not kept)',
    ...(omitted.length > 0 && { omitted }),
    ...(line !== input && { redacted: true }),
  };
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
