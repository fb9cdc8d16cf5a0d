import type { PoolFailure, PoolFailureReason } from '../../process-pool/pool.types.js';
import type { ToolAnnotations } from '../../tool-contract/tool.js';

/** Failures after which another try may go better. Past its deadline a call has no time for one. */
const repeatable: ReadonlySet<PoolFailureReason> = new Set([
  'tool_crashed',
  'spawn_failed',
  'protocol_error',
  'timeout',
]);

/** What decides whether a failed call is run once more. */
export interface RepetitionFacts {
  /** How often it was run; the first time is 1. */
  readonly attempt: number;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly idempotent: boolean;
  readonly remainingMs: number;
  /** The caller has left. */
  readonly aborted: boolean;
}

/** Running a call twice is safe when nothing of it reached a process, or when the tool says so of itself (idempotent). */
export function mayRepeat(failure: Pick<PoolFailure, 'reason' | 'written'>, facts: RepetitionFacts): boolean {
  const safe = !failure.written || facts.idempotent;
  const timeLeft = facts.remainingMs > facts.retryDelayMs;
  return (
    repeatable.has(failure.reason) && safe && timeLeft && facts.attempt <= facts.maxRetries && !facts.aborted
  );
}

/**
 * A call that reached a process and brought no answer may have done its work, whatever its caller is told. Of a tool
 * that only reads there is nothing to wonder about.
 */
export function isResultUnknown(written: boolean, { readOnly }: Pick<ToolAnnotations, 'readOnly'>): boolean {
  return written && !readOnly;
}

/** What an agent must know before it calls again. */
export function sayResultUnknown(
  message: string,
  { idempotent }: Pick<ToolAnnotations, 'idempotent'>,
): string {
  const advice = idempotent ? '; calling it again is safe' : '';
  return `${message}. The result is unknown: the tool may have done its work${advice}`;
}
