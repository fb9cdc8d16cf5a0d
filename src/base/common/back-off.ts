export interface BackOff {
  /** The pause after the first failure; each further one doubles it. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** Share of the pause that is left to chance: 0 (the default) for none, 1 for anything between nothing and the whole. */
  readonly jitter?: number;
}

/** @returns milliseconds to wait after `failures` consecutive failures */
export function backOff(failures: number, { firstMs, maxMs, jitter = 0 }: BackOff): number {
  const pauseMs = Math.min(maxMs, firstMs * 2 ** Math.max(0, failures - 1));
  return Math.round(pauseMs * (1 - jitter * Math.random()));
}
