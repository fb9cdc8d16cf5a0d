import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { InFlight } from './lifecycle.js';

/** Interval of checks, which is the min duration of a pause. */
const idleMs = 10_000;

/**
 * Collects all garbage of this thread now, and once in each pause of some ten seconds between calls, or other work; also in the
 * one after the start, which leaves garbage for a while. V8 keeps the memory of dead objects until its heap has grown to its
 * limit. A collection blocks the thread for about 0.1 s, so it never runs during a call.
 */
export function collectWhenIdle(calls: Pick<InFlight, 'begun' | 'count'>): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NodeJS.GCFunction;
  // The `regular` flavor leaves more pages.
  const collect = (): void => gc({ type: 'major', flavor: 'last-resort', execution: 'sync' });
  collect();
  /** Number of begun calls at the last collection in a pause, and at the last check. */
  let collectedAt: number | undefined;
  let seen = calls.begun;
  setInterval(() => {
    const isIdle = calls.count === 0 && calls.begun === seen;
    if (isIdle && collectedAt !== seen) {
      collect();
      collectedAt = seen;
    }
    seen = calls.begun;
  }, idleMs).unref();
}
