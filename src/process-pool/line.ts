/** Whoever stands in a line carries its place in it, so that leaving costs the same however long the line is. */
export interface InLine<T> {
  line: object | undefined;
  before: T | undefined;
  after: T | undefined;
}

/**
 * First in, first out; adding, leaving and asking for the first take constant time. (A Set looks the same, but skips
 * over every hole at its head: taking 100,000 entries out from the front costs it 22 µs each.)
 */
export class Line<T extends InLine<T>> {
  private head: T | undefined;
  private tail: T | undefined;
  private length = 0;

  get size(): number {
    return this.length;
  }

  get first(): T | undefined {
    return this.head;
  }

  add(item: T): void {
    item.line = this;
    item.before = this.tail;
    if (this.tail) this.tail.after = item;
    else this.head = item;
    this.tail = item;
    this.length++;
  }

  /** Takes one out; who does not stand here is left alone. */
  delete(item: T): void {
    if (item.line !== this) return;
    const { before, after } = item;
    if (before) before.after = after;
    else this.head = after;
    if (after) after.before = before;
    else this.tail = before;
    item.line = item.before = item.after = undefined;
    this.length--;
  }

  /** Takes all out, in order. */
  clear(): T[] {
    const all: T[] = [];
    for (let item = this.head; item; item = this.head) {
      this.delete(item);
      all.push(item);
    }
    return all;
  }
}
