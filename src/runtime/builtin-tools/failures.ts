import { bulkhead } from 'cockatiel';
import { CallerSlots } from '../../base/common/caller-slots.js';
import { errorTable } from '../../base/common/errors.js';
import type { BuiltinRun } from '../../web/contract/define-tool.js';
import { callerIdOf } from '../../web/contract/principal.js';
import { ToolFailure } from '../../web/contract/tool-outcome.js';

/** A failure because of the input, which does not count against the tool. */
export const callerMistake = (message: string): ToolFailure =>
  new ToolFailure('tool_error', message, { code: errorTable.invalid_input.jsonRpc });

/** A failure of another server, which does not count against the tool; the same call may succeed later. */
export const awayFailure = (message: string): ToolFailure => new ToolFailure('upstream_unavailable', message);

/** The part of a run that waiting for a slot needs. */
export type Run = Pick<BuiltinRun, 'signal' | 'principal'>;

/** Limits the calls that run and wait at the same time, and so their memory. */
export class Slots {
  private readonly slots;
  private readonly callers;

  constructor(
    /** The plural in "Too many … at the same time". */
    private readonly what: string,
    { maxConcurrent, maxWaiting }: { readonly maxConcurrent: number; readonly maxWaiting: number },
  ) {
    this.slots = bulkhead(maxConcurrent, Infinity);
    const all = maxConcurrent + maxWaiting;
    this.callers = new CallerSlots(Math.ceil(all * 0.75), all);
  }

  /** Waits for a slot and works. @throws ToolFailure if too many wait; the signal's reason; errors of the work */
  async run<T>({ signal, principal }: Run, work: () => Promise<T>): Promise<T> {
    const release = this.callers.take(callerIdOf(principal));
    if (!release) throw awayFailure(`Too many ${this.what} at the same time: try again later`);
    const run = (): Promise<T> => {
      signal.throwIfAborted();
      return work();
    };
    return this.slots.execute(run).finally(release);
  }
}

/** The beginning of a text, which does not end within a surrogate pair. @param maxLength UTF-16 code units */
export function cut(text: string, maxLength: number): string {
  const last = text.charCodeAt(maxLength - 1);
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalf ? maxLength - 1 : maxLength);
}
