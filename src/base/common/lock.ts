import { setTimeout as delay } from 'node:timers/promises';
import { lock } from 'proper-lockfile';

/** The lock is held by a live process. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
}

export type Release = () => Promise<void>;

/** Age of the last sign of life at which an owner counts as dead, in milliseconds. */
export const takeOverMs = 3_000;
const signOfLifeMs = 1_000;
const lookEveryMs = 50;

/**
 * A lock between processes, also of several containers: a folder that its owner touches while it lives.
 * @param timeoutMs if shorter than `takeOverMs`, the lock of a dead process is not taken over
 * @param onLost called if another process took over the lock, because this one seemed dead
 * @throws LockHeld if another process holds it for longer than `timeoutMs`; the system error if it cannot be written
 */
export async function acquireLock(
  path: string,
  timeoutMs: number,
  onLost: (error: Error) => void = () => undefined,
): Promise<Release> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      const release = await lock(path, {
        lockfilePath: path,
        realpath: false,
        stale: takeOverMs,
        update: signOfLifeMs,
        onCompromised: onLost,
      });
      // A lost lock is ignored. A folder that cannot be removed will count as that of a dead owner.
      return () => release().catch(() => undefined);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
      if (Date.now() > end) throw new LockHeld(`${path} is held by another process`, { cause: error });
      await delay(lookEveryMs);
    }
  }
}
