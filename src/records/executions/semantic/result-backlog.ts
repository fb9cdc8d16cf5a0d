/** Characters of results that may wait to be read, in all. */
const most = 16_777_216;

/**
 * Counts what waits for the thread that reads results: shared with it, so that results that come faster than they are
 * read take no more memory than this.
 */
export class ResultBacklog {
  private readonly waiting: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.waiting = new Int32Array(memory);
  }

  /** @returns whether there is room for a text of this length */
  take(length: number): boolean {
    if (Atomics.load(this.waiting, 0) + length > most) return false;
    Atomics.add(this.waiting, 0, length);
    return true;
  }

  done(length: number): void {
    Atomics.sub(this.waiting, 0, length);
  }

  /** Results that were given to a thread that died are lost. */
  clear(): void {
    Atomics.store(this.waiting, 0, 0);
  }
}
