export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** A source of the time. Tests use their own. */
export interface Clock {
  /** Milliseconds, usually since the epoch. */
  now(): number;
}

export const systemClock: Clock = Date;
/** Injection token of the clock. */
export const CLOCK = Symbol('Clock');
