import { bulkhead } from 'cockatiel';
import { CallerSlots } from '../../base/common/caller-slots.js';
import type { BuiltinRun } from '../../web/contract/define-tool.js';
import { callerIdOf } from '../../web/contract/principal.js';
import { awayFailure } from './failures.js';

/** The part of a run that waiting for a slot needs. */
export type WaitingRun = Pick<BuiltinRun, 'signal' | 'principal'>;

/** Share of all calls that one caller may have. */
const callerShare = 0.75;

/** Limits the calls that run and wait at the same time, and so their memory. */
export class ConcurrencyLimit {
  private readonly slots;
  private readonly callers;

  constructor(
    /** The plural in "Too many … at the same time". */
    private readonly what: string,
    { maxConcurrent, maxWaiting }: { readonly maxConcurrent: number; readonly maxWaiting: number },
  ) {
    this.slots = bulkhead(maxConcurrent, Infinity);
    const all = maxConcurrent + maxWaiting;
    this.callers = new CallerSlots(Math.ceil(all * callerShare), all);
  }

  /** Waits for a slot and works. @throws ToolFailure if too many wait; the signal's reason; errors of the work */
  async run<T>({ signal, principal }: WaitingRun, work: () => Promise<T>): Promise<T> {
    const release = this.callers.take(callerIdOf(principal));
    if (!release) throw awayFailure(`Too many ${this.what} at the same time: try again later`);
    const runUnlessEnded = (): Promise<T> => {
      signal.throwIfAborted();
      return work();
    };
    return this.slots.execute(runUnlessEnded).finally(release);
  }
}

/** The beginning of a text, which does not end within a surrogate pair. @param maxLength UTF-16 code units */
export function cut(text: string, maxLength: number): string {
  const last = text.charCodeAt(maxLength - 1);
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalf ? maxLength - 1 : maxLength);
}
