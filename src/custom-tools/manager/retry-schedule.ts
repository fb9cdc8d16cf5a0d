import { backOff } from '../../common/back-off.js';

interface Tries {
  readonly failures: number;
  readonly dueAt: number;
}

/**
 * When something that failed is tried again: after `firstMs`, then twice as long each time, up to `longestMs`. All
 * times in milliseconds of one clock.
 */
export class RetrySchedule {
  private readonly tries = new Map<string, Tries>();

  constructor(
    readonly firstMs: number,
    readonly longestMs: number,
  ) {}

  isDue(name: string, now: number): boolean {
    return now >= (this.tries.get(name)?.dueAt ?? 0);
  }

  failed(name: string, now: number): void {
    const failures = (this.tries.get(name)?.failures ?? 0) + 1;
    this.tries.set(name, { failures, dueAt: now + backOff(failures, this) });
  }

  /** It is not tried any more: the next failure is a first one. */
  forget(name: string): void {
    this.tries.delete(name);
  }

  /** Forgets all but these. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.tries.keys()) if (!names.has(name)) this.tries.delete(name);
  }
}
