import { setTimeout as delay } from 'node:timers/promises';
import { lock } from 'proper-lockfile';

/** The lock is held by another live process. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
}

/** Releases a lock. */
export type Release = () => Promise<void>;

/** Age of the owner's last heartbeat at which it counts as dead, in milliseconds. */
export const takeOverMs = 3_000;
/** Interval of the owner's heartbeats. */
const heartbeatMs = 1_000;
/** Interval of tries while another process holds the lock. */
const retryMs = 50;

/**
 * Takes a lock between processes, also of several containers: a folder whose time its owner updates while it lives.
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
        update: heartbeatMs,
        onCompromised: onLost,
      });
      // A lost lock needs no release. A folder that cannot be removed will soon count as that of a dead owner.
      return () => release().catch(() => undefined);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
      if (Date.now() > end) throw new LockHeld(`${path} is held by another process`, { cause: error });
      await delay(retryMs);
    }
  }
}
