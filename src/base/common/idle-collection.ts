import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { InFlight } from './lifecycle.js';

/** Interval of checks. A whole interval without calls is a pause. */
const checkMs = 10_000;

/**
 * Collects all garbage of this thread now, and once in each pause of ten seconds without calls; also in the first pause after
 * the start, whose garbage becomes collectable later. V8 keeps the memory of dead objects until its heap has grown to its limit.
 * A collection blocks the thread for about 0.1 s, so it never runs during a call.
 */
export function collectWhenIdle(calls: Pick<InFlight, 'begun' | 'count'>): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NodeJS.GCFunction;
  // The `regular` flavor returns less memory to the system.
  const collect = (): void => gc({ type: 'major', flavor: 'last-resort', execution: 'sync' });
  collect();
  /** Numbers of begun calls: at the last collection in a pause, and at the last check. */
  let begunAtCollection: number | undefined;
  let begunAtCheck = calls.begun;
  setInterval(() => {
    const isPause = calls.count === 0 && calls.begun === begunAtCheck;
    if (isPause && calls.begun !== begunAtCollection) {
      collect();
      begunAtCollection = calls.begun;
    }
    begunAtCheck = calls.begun;
  }, checkMs).unref();
}
