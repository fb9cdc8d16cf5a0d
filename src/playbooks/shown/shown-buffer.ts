import { keyOf, type Showing } from './shown-playbooks.repository.js';

/** What was shown and is not stored yet. Bounded: beyond its cap, showings of further playbooks are not taken. */
export class ShownBuffer {
  private showings = new Map<string, Showing>();

  constructor(private readonly most: number) {}

  get size(): number {
    return this.showings.size;
  }

  /** @returns false when it was full */
  add(showing: Showing): boolean {
    const key = keyOf(showing);
    const known = this.showings.get(key);
    if (!known && this.showings.size >= this.most) return false;
    this.showings.set(key, known ? both(known, showing) : showing);
    return true;
  }

  /** Takes everything out, to be stored. */
  take(): Showing[] {
    const taken = [...this.showings.values()];
    this.showings = new Map();
    return taken;
  }
}

const both = (a: Showing, b: Showing): Showing => ({
  ...a,
  first_shown_at: a.first_shown_at < b.first_shown_at ? a.first_shown_at : b.first_shown_at,
  last_shown_at: a.last_shown_at > b.last_shown_at ? a.last_shown_at : b.last_shown_at,
  times: a.times + b.times,
});
