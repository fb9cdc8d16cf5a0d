import { Problem } from './errors.js';

/** Slots that callers share, with a limit per caller and one for all. */
export class CallerSlots {
  /** Number of slots that each caller holds. */
  private readonly held = new Map<string, number>();
  /** Number of slots that are taken. */
  taken = 0;

  /** @param ofCaller max slots of one caller @param ofAll max slots of all callers */
  constructor(
    readonly ofCaller: number,
    readonly ofAll = Infinity,
  ) {}

  /**
   * Takes slots for a caller.
   * @param caller a key, or an address without one
   * @returns a function that releases the slots once; undefined if a limit would be exceeded
   */
  take(caller: string, slots = 1): (() => void) | undefined {
    const own = (this.held.get(caller) ?? 0) + slots;
    if (own > this.ofCaller || this.taken + slots > this.ofAll) return undefined;
    this.held.set(caller, own);
    this.taken += slots;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.taken -= slots;
      const left = (this.held.get(caller) ?? 0) - slots;
      if (left > 0) this.held.set(caller, left);
      else this.held.delete(caller);
    };
  }

  /** Takes one slot. @param what the limited things, in the plural @throws Problem `rate_limited` that names the limit */
  claim(caller: string, what: string, retryAfterMs = 5_000): () => void {
    const release = this.take(caller);
    if (release) return release;
    const ofAll = this.ofAll === Infinity ? '' : `, and all callers ${this.ofAll}`;
    const detail = `A caller may have ${this.ofCaller} ${what} at a time at this server${ofAll}`;
    throw new Problem('rate_limited', detail, { retryAfterMs });
  }
}
