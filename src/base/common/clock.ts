export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** The source of the time; tests bring their own. */
export interface Clock {
  /** Milliseconds, as a rule since 1970, UTC. */
  now(): number;
}

export const systemClock: Clock = Date;
export const CLOCK = Symbol('Clock');
