import { setTimeout as delay } from 'node:timers/promises';
import { type OutcomeCode, Refusal } from '../../../base/common/errors.js';
import { holderOf } from '../../../web/auth/call-rates.js';
import { alteredNumber } from '../../../web/rest/raw-body.js';
import type { Tracer } from '../../../base/observability/tracing/tracer.js';
import { errorLine, quotedChars, stderrMark } from '../../process-pool/failure-messages.js';
import {
  type PoolAnswer,
  PoolFailure,
  type ReplyError,
  type RequestNotes,
  type PoolFailureReason,
  type PoolSlot,
} from '../../process-pool/pool.types.js';
import { Asker, isLive } from '../../../web/contract/asks.js';
import type { Caller, Slot, ToolAnnotations, ToolRun, Unavailability } from '../../../web/contract/tool.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { cleanNotice, type Redactor } from '../../secrets/redactor.js';
import type { RunningBackend, ToolBackend } from './tool-backend.js';

/** A call as a tool's process gets it. */
export interface PoolJob {
  /** Absent: the dialect's method for calls. */
  readonly method?: string;
  /** Makes the request's parameters; `remainingMs` is the time until the deadline. */
  readonly params: (remainingMs: number) => object;
  readonly annotations: ToolAnnotations;
  /** Whether the call needs a process that has not served any request yet. */
  readonly needsFreshProcess: boolean;
}

/* Retry hints for a tool whose queue is full, and for one that cannot be started. */
const busyRetryMs = 1_000;
const brokenRetryMs = 30_000;

/** Runs the calls of a registered tool, or of all tools of an MCP server, on its pool. */
export class PoolCalls {
  constructor(
    private readonly tool: CustomTool,
    private readonly backend: ToolBackend,
    private readonly revision: number,
    private readonly tracer: Tracer,
  ) {}

  /**
   * Takes a slot for one call of a caller.
   * @param jobOf makes the request for the process
   * @throws Refusal `tool_unavailable`, `queue_full`, `shutting_down` or `authorization_required`
   */
  takeSlot(caller: Caller, jobOf: (input: unknown, run: ToolRun) => PoolJob): Slot {
    const { name } = this.tool;
    const { backend } = this;
    if ('unavailable' in backend) throw this.cannotStart(backend.unavailable, caller);
    try {
      const pool =
        backend.separate?.of(caller.context.projectId, backend.ownerOf?.(caller.principal)) ?? backend.pool;
      const why = pool.whyUnavailable();
      if (why !== undefined) throw this.cannotStart(why, caller);
      const slot = pool.admit(holderOf(caller));
      return {
        run: (input, run) => this.run(backend, slot, jobOf(input, run), run),
        release: slot.release,
      };
    } catch (error) {
      if (!(error instanceof PoolFailure)) throw error;
      const code = error.reason === 'queue_full' ? 'queue_full' : 'shutting_down';
      throw new Refusal(code, `${name}: ${error.message}`, { retryAfterMs: busyRetryMs });
    }
  }

  /** Why no process can serve a call now; undefined if one can. */
  unavailable(): Unavailability | undefined {
    const { backend } = this;
    const why = 'unavailable' in backend ? backend.unavailable : backend.pool.whyUnavailable();
    return why === undefined
      ? undefined
      : { state: 'error', why: this.cleanWithHint(why.split(stderrMark)[0] ?? '') };
  }

  /** Redacts the values of the tool's environment in a text. */
  clean(text: string): string {
    return 'redactor' in this.backend ? this.backend.redactor.clean(text) : text;
  }

  /** Redacts the values of the tool's environment in all texts of a JSON value. */
  cleanJson(value: unknown): unknown {
    return 'redactor' in this.backend ? this.backend.redactor.cleanJson(value) : value;
  }

  /**
   * An error message, redacted, with a hint at a missing grant.
   * @param output text in which that hint is looked for, too
   * @param isStart whether a process failed to start
   */
  cleanWithHint(message: string, { output = '', isStart = false } = {}): string {
    const { confined = undefined } = 'pool' in this.backend ? this.backend : {};
    const hint = confined?.hint(`${message} ${output}`, isStart);
    return this.clean(hint === undefined ? message : `${message} (${hint})`);
  }

  /** The refusal of a call that no process can serve. Only administrators see the process's stderr. */
  private cannotStart(why: string, { principal }: Caller): Refusal {
    const [reason = '', stderr = ''] = why.split(stderrMark);
    const shown = principal.scopes.has('tools:admin') ? why : reason;
    const explained = this.cleanWithHint(shown, { output: stderr, isStart: true });
    const detail = `${this.tool.name} cannot be started: ${explained}`;
    return new Refusal('tool_unavailable', detail, { retryAfterMs: brokenRetryMs, retryElsewhere: true });
  }

  /** Runs a call and retries it while that is safe. The notes describe the last attempt only. @throws ToolFailure */
  private async run(
    { redactor, accounts }: RunningBackend,
    slot: PoolSlot,
    job: PoolJob,
    run: ToolRun,
  ): Promise<unknown> {
    run.notes.revision = this.revision;
    if (this.tool.credentials !== 'none')
      run.notes['credential'] = accounts?.isExchanged(run.principal) ? 'exchange' : this.tool.credentials;
    let wasWritten = false;
    const asker = run.asks && isLive(run.asks) ? new Asker(run, run.asks) : undefined;
    for (let attempt = 1; ; attempt++) {
      run.notes.attempts = attempt;
      try {
        const { reply, notes } = await this.request(slot, redactor, job, run, asker);
        Object.assign(run.notes, 'error' in reply ? cleanNotes(notes, redactor) : notes);
        assertNumbersExact(notes.outputText);
        if ('result' in reply) return reply.result;
        throw this.toolError(reply.error);
      } catch (error) {
        if (!(error instanceof PoolFailure)) throw error;
        wasWritten ||= error.written;
        const failure = withoutSecrets(error, redactor);
        if (!this.isRepeated(failure, attempt, job, run))
          throw asker?.failure ?? this.failureOf(failure, wasWritten, job, run);
        const { signal } = run.cancellation;
        await delay(this.tool.retryDelayMs, undefined, { signal }).catch(() => undefined);
        if (run.cancellation.isCancelled)
          throw this.failureOf(leftBeforeRetry(failure), wasWritten, job, run);
      } finally {
        // The questions of an attempt end with it.
        asker?.close();
      }
    }
  }

  /** The failure of a call that the tool answered with an error. */
  private toolError({ code, message, data }: ReplyError): ToolFailure {
    return new ToolFailure('tool_error', this.cleanWithHint(message), { code, data: this.cleanJson(data) });
  }

  /** Sends one request to a process. */
  private request(
    slot: PoolSlot,
    redactor: Redactor,
    { method, params, needsFreshProcess }: PoolJob,
    { executionId, deadline, begin, cancellation, onProgress }: ToolRun,
    asker: Asker | undefined,
  ): Promise<PoolAnswer> {
    const arrivedAt = performance.now();
    const answer = slot.run({
      method: 'execute',
      wireMethod: method,
      params,
      deadline,
      begin,
      cancellation,
      fresh: needsFreshProcess,
      executionId,
      onRequest: asker?.relay,
      ...(onProgress && { onNotice: (notice) => onProgress(cleanNotice(notice, redactor)) }),
    });
    return this.tracer.on ? this.traced(answer, arrivedAt) : answer;
  }

  /** Adds the request to the trace as soon as it has ended. */
  private async traced(answer: Promise<PoolAnswer>, arrivedAt: number): Promise<PoolAnswer> {
    try {
      const { reply, notes } = await answer;
      addPoolSpans(this.tracer, arrivedAt, notes, 'error' in reply ? 'tool_error' : undefined);
    } catch (error) {
      if (error instanceof PoolFailure) addPoolSpans(this.tracer, arrivedAt, error.notes, error.reason);
    }
    return answer;
  }

  /** Whether this tool's settings and the call's deadline allow another attempt. */
  private isRepeated(
    failure: PoolFailure,
    attempt: number,
    job: PoolJob,
    { deadline, cancellation }: ToolRun,
  ): boolean {
    const { maxRetries, retryDelayMs } = this.tool;
    return mayRepeat(failure, {
      attempt,
      maxRetries,
      retryDelayMs,
      idempotent: job.annotations.idempotent,
      remainingMs: deadline.remainingMs(),
      isCancelled: cancellation.isCancelled,
    });
  }

  /** The failure as the caller sees it. @param wasWritten whether any attempt may have reached a process */
  private failureOf(
    failure: PoolFailure,
    wasWritten: boolean,
    { annotations }: PoolJob,
    run: ToolRun,
  ): ToolFailure {
    Object.assign(run.notes, failure.notes);
    const rule = this.brokenRule(failure);
    const isStart = failure.reason === 'spawn_failed';
    // The message of a failed start ends with the stderr of its process.
    const [cause = '', stderr = run.notes.stderrTail] = isStart
      ? failure.message.split(stderrMark)
      : [failure.message];
    if (isStart && stderr) run.notes.stderrTail = stderr;
    const hasEnded = isStart || failure.reason === 'tool_crashed';
    const explained = hasEnded ? this.cleanWithHint(cause, { output: stderr, isStart }) : cause;
    const aside = hasEnded && stderr ? this.lastLines(stderr) : undefined;
    const message = rule === undefined ? explained : `The tool was ended by its sandbox: ${rule}`;
    const reason = rule === undefined ? reasonOf(failure) : 'sandbox_violation';
    // The tool got no request, so the time spent waiting is not its fault.
    if (reason === 'timeout' && !wasWritten) return new ToolFailure(reason, message, { isToolFault: false });
    if (!isResultUnknown(wasWritten, annotations)) return new ToolFailure(reason, message, { aside });
    run.notes.resultUnknown = true;
    return new ToolFailure(reason, withResultUnknown(message, annotations), { aside });
  }

  /** The end of stderr, and where to read more. For operators only. */
  private lastLines(stderr: string): string {
    return `stderr ends with: ${errorLine(stderr)} (toolkeeper tool logs ${this.tool.name})`;
  }

  /** The rule of the sandbox for which the process was ended, if any. */
  private brokenRule({ reason, notes }: PoolFailure): string | undefined {
    if (reason !== 'tool_crashed' || 'unavailable' in this.backend) return undefined;
    return this.backend.confined.brokenRule(notes);
  }
}

/** Runs a call in a slot, and releases the slot. */
export const inSlot = (slot: Slot, input: unknown, run: ToolRun): Promise<unknown> =>
  slot.run(input, run).finally(slot.release);

/** @throws ToolFailure `protocol_error` if the answer has a number that JavaScript would change */
function assertNumbersExact(answer: string | undefined): void {
  const altered = answer === undefined ? undefined : alteredNumber(answer);
  if (!altered) return;
  const { pointer, detail } = altered;
  throw new ToolFailure('protocol_error', `The tool's answer: ${pointer} ${detail}`);
}

/** A pool's failure whose message and notes are redacted. */
function withoutSecrets({ reason, message, notes, written }: PoolFailure, redactor: Redactor): PoolFailure {
  // A line that the message quotes may be cut off at its end.
  const clean = redactor.clean(message, { end: message.length >= quotedChars });
  return new PoolFailure(reason, clean, cleanNotes(notes, redactor), written);
}

/** The notes of a request, redacted. */
function cleanNotes(notes: RequestNotes, redactor: Redactor): RequestNotes {
  const { stderrTail, strayLines } = notes;
  return {
    ...notes,
    ...(stderrTail !== undefined && { stderrTail: redactor.clean(stderrTail, { start: true }) }),
    ...(strayLines && { strayLines: redactor.cleanJson(strayLines, { names: false }) as typeof strayLines }),
  };
}

/** The failure of a call whose caller left during the pause before a retry. */
function leftBeforeRetry({ message, notes }: PoolFailure): PoolFailure {
  return new PoolFailure('cancelled', `The caller left before the next try (${message})`, notes);
}

/** The error code of a failure. */
function reasonOf({ reason }: PoolFailure): OutcomeCode {
  // A pool that stops or is full while a call runs is the gateway's doing, not the tool's.
  return reason === 'queue_full' || reason === 'shutting_down' ? 'interrupted' : reason;
}

/**
 * Adds a finished request of a pool to the trace: the wait for a process, the start of one if needed, and the round trip.
 * @param arrivedAt time by performance.now()
 */
export function addPoolSpans(tracer: Tracer, arrivedAt: number, notes: RequestNotes, failure?: string): void {
  const now = performance.now();
  const { queueMs, spawnMs, pid, outputBytes } = notes;
  const failed = failure !== undefined && { 'error.type': failure };
  if (queueMs === undefined) return tracer.past('pool.wait', arrivedAt, now, { ...failed });
  const begunAt = arrivedAt + queueMs;
  tracer.past('pool.wait', arrivedAt, begunAt, {});
  // The start of the process may have begun before this request came.
  if (spawnMs !== undefined) tracer.past('pool.spawn', begunAt - spawnMs, begunAt, {});
  tracer.past('pool.round_trip', begunAt, now, {
    ...(pid !== undefined && { 'process.pid': pid }),
    ...(outputBytes !== undefined && { 'toolkeeper.output_bytes': outputBytes }),
    ...failed,
  });
}

/** Failures after which a retry may succeed. */
const repeatable: ReadonlySet<PoolFailureReason> = new Set([
  'tool_crashed',
  'spawn_failed',
  'protocol_error',
  'timeout',
]);

/** Facts that decide whether a failed call is retried. */
export interface RepetitionFacts {
  /** Number of attempts so far, at least 1. */
  readonly attempt: number;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly idempotent: boolean;
  readonly remainingMs: number;
  /** Whether the caller has left. */
  readonly isCancelled: boolean;
}

/** Whether a failed call is retried. That is safe if its request reached no process or the tool is declared idempotent. */
export function mayRepeat(failure: Pick<PoolFailure, 'reason' | 'written'>, facts: RepetitionFacts): boolean {
  const isSafe = !failure.written || facts.idempotent;
  const hasTime = facts.remainingMs > facts.retryDelayMs;
  return (
    repeatable.has(failure.reason) &&
    isSafe &&
    hasTime &&
    facts.attempt <= facts.maxRetries &&
    !facts.isCancelled
  );
}

/** Whether a failed call may have had effects: its request reached a process and the tool does not only read. */
export function isResultUnknown(written: boolean, { readOnly }: Pick<ToolAnnotations, 'readOnly'>): boolean {
  return written && !readOnly;
}

/** Adds to a message what an agent must know before it calls again. */
export function withResultUnknown(
  message: string,
  { idempotent }: Pick<ToolAnnotations, 'idempotent'>,
): string {
  const advice = idempotent ? '; calling it again is safe' : '';
  return `${message}. The result is unknown: the tool may have done its work${advice}`;
}
