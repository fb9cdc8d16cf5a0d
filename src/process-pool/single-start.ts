import type { PoolParts } from './pool-parts.js';
import { PoolFailure } from './pool.types.js';
import { StartPermits } from './start-permits.js';

/**
 * Runs `work`, which starts one process that belongs to no pool and ends with it: it counts among those of all pools,
 * and waits for its place as a request for a pool without a process does.
 * @throws PoolFailure `timeout`, with the limit that was in the way, when there was no place within `patienceMs`
 */
export async function startAlone<T>(
  shared: Pick<PoolParts, 'budget' | 'gate'>,
  patienceMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const turn = Promise.withResolvers<void>();
  let entered: (() => void) | undefined;
  const tryEnter = (): void => {
    entered ??= permits.tryTake(true);
    if (entered) turn.resolve();
  };
  const user = { freed: tryEnter, opened: tryEnter, yieldIdle: () => false };
  const permits = new StartPermits({ ...shared, user });
  const timer = setTimeout(() => {
    const why = permits.whyRefused ?? 'it was not its turn';
    turn.reject(new PoolFailure('timeout', `No process could be started within ${patienceMs} ms: ${why}`));
  }, patienceMs);
  try {
    tryEnter();
    await turn.promise;
    return await work();
  } finally {
    clearTimeout(timer);
    if (entered) {
      entered();
      permits.give();
    }
    permits.leave();
  }
}
