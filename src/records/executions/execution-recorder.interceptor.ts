import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Buffer } from 'node:buffer';
import { performance } from 'node:perf_hooks';
import { lastValueFrom, type Observable, of } from 'rxjs';
import { Refusal } from '../../base/common/errors.js';
import { InputRequired, maxAskedMs, unanswered } from '../../web/contract/asks.js';
import { CallEvents } from '../../web/contract/call-events.js';
import type { ToolCall } from '../../web/contract/tool-call.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { ExecutionRecorder } from './execution-recorder.js';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { messageOf } from '../../base/common/message-of.js';
import type { CallContext } from '../../web/contract/tool.js';
import type { CapturedPayload, ExecutionEnd, ExecutionStart } from './execution-record.js';
import { readLength, type ResultToRead } from './semantic/result-reader.js';

/**
 * Records the start of an execution before the tool gets the call, and its end before the caller gets the answer. A cached
 * answer is not an execution. The interceptor has no state, because Nest makes an instance for each use. It awaits the
 * handler, because operators of rxjs would allocate 6 KB per call.
 */
@Injectable()
export class ExecutionRecorderInterceptor implements NestInterceptor<ToolOutcome, ToolOutcome> {
  constructor(
    private readonly recorder: ExecutionRecorder,
    private readonly events: CallEvents,
  ) {}

  /** @throws Refusal `recorder_full` if the journal cannot take the record */
  async intercept(
    context: ExecutionContext,
    next: CallHandler<ToolOutcome>,
  ): Promise<Observable<ToolOutcome>> {
    const call = context.getArgByIndex<ToolCall>(0);
    const { ticket } = call;
    // The ticket notes that this step was not skipped.
    ticket.recorded = true;
    if (ticket.cachedAnswer) return next.handle();
    const round = call.asks?.round;
    ticket.clockStartMs = performance.now() - (round?.spentMs ?? 0);
    ticket.startedAt = round?.startedAt ?? Date.now();
    if (!round || !this.recorder.resume(round.executionId)) {
      await this.recorder.begin(ticket.executionId, startOf(call, ticket.startedAt));
    }
    let outcome: ToolOutcome;
    try {
      outcome = await lastValueFrom(next.handle());
    } catch (error) {
      await this.onError(call, error);
      throw error;
    }
    await this.finish(call, endOfOutcome(call, outcome));
    return of(outcome);
  }

  /** Records an error: suspends a call that asks its caller, drops a late refusal; any other error is a bug. */
  private async onError(call: ToolCall, error: unknown): Promise<void> {
    const { asks, ticket } = call;
    // A call that was refused in a later round may be repeated while its state is valid.
    if (error instanceof InputRequired || (error instanceof Refusal && asks?.round))
      this.recorder.suspend(ticket.executionId, endWithoutAnswers(call), maxAskedMs);
    else if (!(error instanceof Refusal)) await this.finish(call, { end: endOfBug(call, error) });
    else this.recorder.discard(ticket.executionId);
  }

  /** Emits and records the end of an execution. Resolves when it is in the journal. */
  private finish(call: ToolCall, { end, errorCode, result }: Ended): Promise<unknown> {
    const { ticket, test = false, input, context } = call;
    const { executionId, probe } = ticket;
    this.events.emit({
      kind: 'executed',
      executionId,
      tool: ticket.tool.definition.name,
      status: end.status,
      errorType: end.errorType,
      errorCode,
      fault: end.toolFault ?? false,
      executionTimeMs: end.executionTimeMs,
      at: Date.now(),
      test,
      probe,
      context,
      input,
      outputSize: end.outputSize,
    });
    return this.recorder.finish(executionId, end, result);
  }
}

/** Max characters of a tool's text in a record, because the journal has a limit in bytes. */
const maxText = 4_096;

/** Max bytes of JSON of a captured input, and of a captured answer. */
const maxCapturedBytes = 65_536;
/** Max characters of the preview of an input. */
const previewLength = 200;

/** The project of calls that name none. It is not stored. */
const defaultProject = 'default';
/** Min wait in the queue that is recorded, in milliseconds. */
const minQueueMs = 1;

/** The start of a call's record. @param startedAt milliseconds since the epoch */
export function startOf(call: ToolCall, startedAt: number): ExecutionStart {
  const { context, ticket, test, kind } = call;
  // Sorted keys do not change the size, so one serialisation is enough for hash and size.
  const input = canonicalJson(call.input);
  return {
    toolName: ticket.tool.definition.name,
    userId: context.userId,
    sessionId: context.sessionId,
    // The request usually has the execution's id; then it is not stored twice.
    requestId: context.requestId === ticket.executionId ? undefined : context.requestId,
    investigationId: context.investigationId,
    runId: context.runId,
    ...traceOf(ticket.executionId, context),
    parametersHash: sha256(input),
    inputSize: Buffer.byteLength(input),
    isTest: test,
    kind,
    startedAt,
    metadata: {
      version: ticket.tool.definition.version,
      projectId: context.projectId === defaultProject ? undefined : context.projectId,
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

/** The trace of an execution: the caller's; else its own, if the call belongs to a run, thread, session or investigation; else none. */
function traceOf(
  executionId: string,
  { traceparent, runId, threadId, sessionId, investigationId }: CallContext,
): Pick<ExecutionStart, 'traceId' | 'parentSpanId'> {
  const [, traceId, parentSpanId] = traceparentForm.exec(traceparent ?? '') ?? [];
  if (traceId !== undefined) return { traceId, parentSpanId };
  const group = runId ?? threadId ?? sessionId ?? investigationId;
  return group === undefined ? {} : { traceId: executionId.replaceAll('-', '') };
}

/** The end of an execution, with its result if that is searched for semantic errors. */
export interface Ended {
  readonly end: ExecutionEnd;
  /** JSON-RPC code of the failure. */
  readonly errorCode?: number | undefined;
  readonly result?: ResultToRead | undefined;
}

/** The end of an execution by its outcome. */
export function endOfOutcome(call: ToolCall, outcome: ToolOutcome): Ended {
  const { status, executionTimeMs } = outcome;
  const error = outcome.status === 'success' ? undefined : outcome.error;
  const answer = serialisedAnswer(call, outcome);
  const end: ExecutionEnd = {
    status,
    executionTimeMs,
    errorType: error?.type,
    errorMessage: error?.message.slice(0, maxText),
    toolFault: call.ticket.toolFault || undefined,
    outputSize: answer.bytes,
    metadata: notesOf(call, error?.code),
    payload: call.ticket.tool.capture && capturedPayload(call, outcome),
  };
  return { end, errorCode: error?.code, result: resultToRead(call, outcome, answer.text) };
}

/** The end of an execution whose handler threw: a bug of the server, not the tool's fault. */
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

/** The end of a call whose questions the caller did not answer in time. */
const endWithoutAnswers = (call: ToolCall): ExecutionEnd => ({
  status: 'timeout',
  errorType: 'timeout',
  errorMessage: unanswered,
  executionTimeMs: call.ticket.elapsedMs(),
  metadata: notesOf(call, undefined),
});

/** Notes for the record. Defaults become undefined, which JSON omits: each member costs the database as much as a column. */
function notesOf({ ticket: { notes } }: ToolCall, errorCode: number | undefined): Record<string, unknown> {
  const { attempts, queueMs = 0, stderrTail } = notes;
  return {
    ...notes,
    attempts: attempts === 1 ? undefined : attempts,
    queueMs: queueMs < minQueueMs ? undefined : queueMs,
    outputBytes: undefined,
    outputText: undefined,
    stderrTail: stderrTail?.slice(-maxText),
    errorCode,
  };
}

/** The tool's answer as JSON, or the fallback that is sent in its place. A result that is no JSON fails when it is answered. */
function serialisedAnswer(
  { ticket: { notes } }: ToolCall,
  { status, result }: ToolOutcome,
): { readonly bytes: number; readonly text: string } {
  const isFallback = status !== 'success' && result !== undefined;
  if (!isFallback && notes.outputBytes !== undefined)
    return { bytes: notes.outputBytes, text: notes.outputText ?? '' };
  const text = jsonOf(result) ?? '';
  return { bytes: Buffer.byteLength(text), text };
}

/** The result to search for semantic errors; undefined if the tool's setting or a failure excludes it. */
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
 * Input and answer of an execution, if its tool captures them; undefined for most tools.
 * @param outcome undefined if the server failed
 */
function capturedPayload(call: ToolCall, outcome: ToolOutcome | undefined): CapturedPayload | undefined {
  const { tool, notes } = call.ticket;
  const { capture } = tool;
  if (!capture || (capture === 'failures' && outcome?.status === 'success')) return undefined;
  const stored: Record<string, unknown> = {};
  const omitted: string[] = [];
  /**
   * Adds a value unless it is too large.
   * @param knownBytes its size, if known: a value that is too large is not serialised then
   * @returns its JSON, or undefined if it was omitted
   */
  const store = (name: string, value: unknown, knownBytes = 0): string | undefined => {
    const text = knownBytes > maxCapturedBytes ? undefined : jsonOf(value);
    if (text === undefined || Buffer.byteLength(text) > maxCapturedBytes) {
      omitted.push(name);
      return undefined;
    }
    stored[name] = tool.redact ? tool.redact(value) : value;
    return text;
  };
  const input = store('input', call.input);
  const redactedInput = input && jsonOf(stored['input']);
  if (outcome?.status === 'success') store('result', outcome.result, notes.outputBytes);
  else store('error', outcome?.error ?? null);
  return {
    ...stored,
    preview: redactedInput?.slice(0, previewLength) ?? '(not kept)',
    ...(omitted.length > 0 && { omitted }),
    ...(redactedInput !== input && { redacted: true }),
  };
}

/** A value as JSON; undefined if it is not JSON. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
