import type { Readable } from 'node:stream';

/**
 * The work for one stream in one turn of the event loop: well under a millisecond. A line is one unit, and so is each
 * KiB.
 */
const unitsPerTurn = 128;
export const unitBytes = 1_024;

/**
 * A stream that is read in portions: after a portion it is left alone until the next turn of the event loop, or for
 * longer, so that a writer to a full pipe waits. Without portions one turn would read as long as there is something to
 * read, up to 2 MiB.
 */
export class PacedStream {
  private left = unitsPerTurn;
  /** Not read on before this, by performance.now(). */
  private until = 0;
  private timer: NodeJS.Timeout | undefined;
  private rest: Buffer | undefined;
  private closed = false;
  private paused = false;

  /**
   * @param take gets a chunk, which may be written over when it returns
   * @returns how many of its bytes were taken; the others are given to it again when the pipe is read on
   */
  constructor(
    private readonly stream: Pick<Readable, 'on' | 'pause' | 'resume'>,
    private readonly take: (chunk: Buffer) => number,
  ) {
    stream.on('data', (chunk: Buffer) => {
      if (this.paused) return this.keep(chunk);
      this.spend(chunk.length / unitBytes);
      this.give(chunk);
    });
  }

  /** Whether the stream waits for its next portion. */
  get isBehind(): boolean {
    return this.paused && !this.closed;
  }

  /** Takes units off the portion of this turn; without any left the stream pauses. */
  spend(units: number): void {
    this.left -= units;
    if (this.left <= 0) this.pause(0);
  }

  /** Reads on in a later turn, when at least `ms` have passed. */
  pause(ms: number): void {
    if (ms > 0) this.until = performance.now() + ms;
    if (this.paused) return;
    this.paused = true;
    this.stream.pause();
    setImmediate(() => this.goOn());
  }

  /** Reads on now, where the stream was to wait for longer than a turn. */
  hurry(): void {
    this.until = 0;
    if (this.timer) this.goOn();
  }

  /** Drops the rest: the reader wants no more. */
  close(): void {
    this.closed = true;
    this.rest = undefined;
    clearTimeout(this.timer);
  }

  private give(chunk: Buffer): void {
    const taken = this.take(chunk);
    if (taken < chunk.length && !this.closed) this.rest = Buffer.from(chunk.subarray(taken));
  }

  /** Node resumes its child processes' streams when they exit: chunks then come although the stream is paused. */
  private keep(chunk: Buffer): void {
    this.stream.pause();
    if (!this.closed) this.rest = Buffer.concat(this.rest ? [this.rest, chunk] : [chunk]);
  }

  private goOn(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.closed) return;
    const ms = this.until - performance.now();
    if (ms > 0) {
      this.timer = setTimeout(() => this.goOn(), ms);
      return;
    }
    this.paused = false;
    this.left = unitsPerTurn;
    const { rest } = this;
    this.rest = undefined;
    if (rest) this.give(rest);
    if (!this.paused && !this.closed) this.stream.resume();
  }
}
