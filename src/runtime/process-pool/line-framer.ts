import { Buffer } from 'node:buffer';

/** Receives whole lines. */
export interface LineSink {
  /**
   * One line without its newline; `bytes` is its length on the wire. Invalid UTF-8 is replaced by U+FFFD.
   * @param cut whether the line is longer than `maxBytes`, so that only its beginning is given
   * @returns false to pause: `push` returns before the next line
   */
  line(text: string, bytes: number, cut: boolean): boolean;
  /** A line exceeds `maxBytes`; no more calls follow. Absent: the line is cut. */
  overflow?(): void;
  /** Bytes that were dropped unread, because the budget was used up. */
  skipped?(bytes: number): void;
}

const newline = 10;
/** Max bytes of an unfinished line in messages of failures. */
const shownPartialBytes = 1_000;

const nothing = Buffer.alloc(0);

/**
 * Splits a byte stream into lines of at most `maxBytes` bytes. An unfinished line is kept in a buffer that doubles as it
 * grows. Concatenating every chunk costs nine times as much for a line of 1 MB, and a list of one-byte chunks takes a
 * hundred times the memory. With a budget, a flood costs the same however many lines it has.
 */
export class LineFramer {
  /** The unfinished line, in the first `keptBytes` bytes. */
  private kept = nothing;
  private keptBytes = 0;
  /** Whether the kept line is only the beginning of a longer one. */
  private cut = false;
  private closed = false;
  /** Whether the budget has paid for the current line. */
  private paid = false;
  /** Whether the beginning of the current line was dropped, so that its rest is dropped, too. */
  private inDropped = false;
  private droppedBytes = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly sink: LineSink,
    private readonly budget?: LineBudget,
  ) {}

  /** The beginning of the unfinished line, and its length. */
  get partial(): { readonly text: string; readonly bytes: number } {
    return {
      text: this.kept.toString('utf8', 0, Math.min(this.keptBytes, shownPartialBytes)),
      bytes: this.keptBytes,
    };
  }

  /** Reads a chunk, whose buffer may be reused afterwards. @returns the bytes consumed: all, unless the sink paused */
  push(chunk: Buffer): number {
    let from = 0;
    while (!this.closed && from < chunk.length) {
      this.paid ||= this.budget?.take() ?? true;
      if (!this.paid) return this.drop(chunk, from);
      const at = chunk.indexOf(newline, from);
      if (at === -1) {
        this.keep(from === 0 ? chunk : chunk.subarray(from));
        break;
      }
      const continues = this.finishLine(chunk, from, at);
      from = at + 1;
      if (!continues && !this.closed) return from;
    }
    return chunk.length;
  }

  /** Ends the stream: text after the last newline is a line too. */
  end(): void {
    if (!this.closed && this.keptBytes > 0) this.finishLine(nothing, 0, 0);
    this.reportDropped();
    this.close();
  }

  /** Drops the unfinished line and all further input. */
  close(): void {
    this.closed = true;
    this.forget();
  }

  /** Passes the kept bytes and a part of the chunk on as one line. @returns whether to continue with the next line */
  private finishLine(chunk: Buffer, from: number, to: number): boolean {
    this.paid = false;
    if (this.inDropped) return this.endDropped(to - from);
    const bytes = this.keptBytes + to - from;
    const isWhole = this.keptBytes === 0 && bytes <= this.maxBytes;
    if (!isWhole) this.keep(chunk.subarray(from, to));
    if (this.closed) return false;
    if (this.droppedBytes > 0) this.reportDropped();
    if (isWhole) return this.sink.line(chunk.toString('utf8', from, to), bytes, false);
    const line = this.keptText();
    const { cut } = this;
    this.forget();
    return this.sink.line(line, bytes, cut);
  }

  /** The kept line. If it was cut within a character of several bytes, that character is left out. */
  private keptText(): string {
    const bytes = this.kept.subarray(0, this.keptBytes);
    return this.cut ? new TextDecoder().decode(bytes, { stream: true }) : bytes.toString();
  }

  /** Adds bytes to the kept line, as far as it may grow. */
  private keep(part: Buffer): void {
    const room = this.maxBytes - this.keptBytes;
    if (this.inDropped) this.droppedBytes += part.length;
    else if (part.length <= room) this.append(part);
    else if (this.sink.overflow) {
      this.close();
      this.sink.overflow();
    } else {
      this.cut = true;
      this.append(part.subarray(0, room));
    }
  }

  private append(part: Buffer): void {
    const bytes = this.keptBytes + part.length;
    if (bytes > this.kept.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.maxBytes, 2 * bytes));
      this.kept.copy(larger, 0, 0, this.keptBytes);
      this.kept = larger;
    }
    part.copy(this.kept, this.keptBytes);
    this.keptBytes = bytes;
  }

  private forget(): void {
    this.kept = nothing;
    this.keptBytes = 0;
    this.cut = false;
  }

  /** Drops the rest of a chunk. Only its last byte is read. */
  private drop(chunk: Buffer, from: number): number {
    this.droppedBytes += chunk.length - from;
    this.inDropped = chunk[chunk.length - 1] !== newline;
    return chunk.length;
  }

  /** Ends a line whose beginning was dropped. */
  private endDropped(bytes: number): true {
    this.droppedBytes += bytes;
    this.inDropped = false;
    return true;
  }

  private reportDropped(): void {
    if (this.droppedBytes > 0) this.sink.skipped?.(this.droppedBytes);
    this.droppedBytes = 0;
  }
}

/** A token bucket for lines: `perSecond` on average, with bursts of the same size. */
export class LineBudget {
  private remaining: number;
  private refilledAt: number;
  private isSpent = false;

  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.remaining = perSecond;
    this.refilledAt = now();
  }

  /**
   * Takes one line from the budget before the line is written. A spent budget reopens when it is half full, so that a
   * flood leaves readable blocks rather than single lines. @returns whether the line may be written
   */
  take(): boolean {
    this.refill();
    if (this.isSpent && this.remaining < Math.max(1, this.perSecond / 2)) return false;
    this.isSpent = this.remaining < 1;
    if (this.isSpent) return false;
    this.remaining--;
    return true;
  }

  /** Charges lines that are written already; a negative number is a refund. @returns milliseconds for which it is overdrawn */
  charge(lines: number): number {
    if (lines <= 0 && this.remaining === this.perSecond) return 0;
    this.refill();
    this.remaining = Math.min(this.perSecond, this.remaining - lines);
    return (Math.max(0, -this.remaining) / this.perSecond) * 1_000;
  }

  private refill(): void {
    const now = this.now();
    const refill = ((now - this.refilledAt) / 1_000) * this.perSecond;
    this.remaining = Math.min(this.perSecond, this.remaining + refill);
    this.refilledAt = now;
  }
}
