import { Problem } from './errors.js';

/** Slots that callers share, with a limit per caller and one for all. */
export class CallerSlots {
  /** Number of slots that each caller holds. */
  private readonly heldBy = new Map<string, number>();
  /** Number of slots that are taken. */
  taken = 0;

  constructor(
    readonly maxPerCaller: number,
    readonly maxOfAll = Infinity,
  ) {}

  /**
   * Takes slots for a caller.
   * @param caller the id of its key, or its address if it has no key
   * @returns a function that releases the slots once; undefined if a limit would be exceeded
   */
  take(caller: string, slots = 1): (() => void) | undefined {
    const held = (this.heldBy.get(caller) ?? 0) + slots;
    if (held > this.maxPerCaller || this.taken + slots > this.maxOfAll) return undefined;
    this.heldBy.set(caller, held);
    this.taken += slots;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.taken -= slots;
      const remaining = (this.heldBy.get(caller) ?? 0) - slots;
      if (remaining > 0) this.heldBy.set(caller, remaining);
      else this.heldBy.delete(caller);
    };
  }

  /** Takes one slot. @param what the limited things, in the plural @throws Problem `rate_limited` that names the limit */
  claim(caller: string, what: string, retryAfterMs = 5_000): () => void {
    const release = this.take(caller);
    if (release) return release;
    const ofAll = this.maxOfAll === Infinity ? '' : `, and all callers ${this.maxOfAll}`;
    const detail = `A caller may have ${this.maxPerCaller} ${what} at a time at this server${ofAll}`;
    throw new Problem('rate_limited', detail, { retryAfterMs });
  }
}
