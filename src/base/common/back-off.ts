/** Pauses between tries, which grow with each failure. */
export interface BackOff {
  /** Pause after the first failure. It doubles with each further one. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** Max share of the pause that is subtracted at random, 0 to 1; default 0. */
  readonly jitter?: number;
}

/** Milliseconds to wait after so many consecutive failures. */
export function backOff(failures: number, { firstMs, maxMs, jitter = 0 }: BackOff): number {
  const pauseMs = Math.min(maxMs, firstMs * 2 ** Math.max(0, failures - 1));
  return Math.round(pauseMs * (1 - jitter * Math.random()));
}
