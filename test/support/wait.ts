import { setTimeout as delay } from 'node:timers/promises';

export interface UntilOptions {
  /** Default 60 000: what a machine with other work takes is not what is tested. */
  readonly timeoutMs?: number;
  /** What is awaited, for the message when it does not come. */
  readonly what: string;
}

/**
 * Waits until `condition` gives something truthy and returns that. A condition that throws is asked again; its last
 * error becomes the cause.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 60_000, what }: UntilOptions,
): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs;
  let last: unknown;
  // What does not come at once is asked less often: a question may be a request of the server.
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    try {
      last = undefined;
      const value = await condition();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`Waited ${timeoutMs} ms in vain for: ${what}`, { cause: last });
    await delay(pauseMs);
  }
}
