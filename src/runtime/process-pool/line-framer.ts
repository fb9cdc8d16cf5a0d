import { Buffer } from 'node:buffer';

/** Receives whole lines. */
export interface LineSink {
  /**
   * One line without its newline; `bytes` is its length on the wire. Invalid UTF-8 is replaced by U+FFFD.
   * @returns false to pause: `push` returns before the next line
   */
  line(text: string, bytes: number): boolean;
  /** A line exceeds `maxBytes`; no more calls follow. */
  overflow(): void;
}

const newline = 10;

const nothing = Buffer.alloc(0);

/**
 * Splits a byte stream into lines of at most `maxBytes` bytes. An unfinished line is kept in a buffer that doubles as it
 * grows. Concatenating every chunk costs nine times as much for a line of 1 MB, and a list of one-byte chunks takes a
 * hundred times the memory.
 */
export class LineFramer {
  /** The unfinished line, in the first `keptBytes` bytes. */
  private kept = nothing;
  private keptBytes = 0;
  private closed = false;

  constructor(
    private readonly maxBytes: number,
    private readonly sink: LineSink,
  ) {}

  /**
   * @param chunk may be reused by the caller after the call
   * @returns the number of bytes consumed: all, unless the sink paused
   */
  push(chunk: Buffer): number {
    let from = 0;
    while (!this.closed) {
      const at = chunk.indexOf(newline, from);
      if (at === -1) break;
      const goOn = this.finishLine(chunk, from, at);
      from = at + 1;
      if (!goOn && !this.closed) return from;
    }
    if (!this.closed && from < chunk.length) this.keep(from === 0 ? chunk : chunk.subarray(from));
    return chunk.length;
  }

  /** Ends the stream: text after the last newline is a line too. */
  end(): void {
    if (!this.closed && this.keptBytes > 0) this.finishLine(nothing, 0, 0);
    this.close();
  }

  /** Drops the unfinished line and all further input. */
  close(): void {
    this.closed = true;
    this.forget();
  }

  private finishLine(chunk: Buffer, from: number, to: number): boolean {
    const bytes = this.keptBytes + to - from;
    if (bytes > this.maxBytes) return this.overflow();
    if (this.keptBytes === 0) return this.sink.line(chunk.toString('utf8', from, to), bytes);
    this.append(chunk.subarray(from, to));
    const line = this.kept.toString('utf8', 0, bytes);
    this.forget();
    return this.sink.line(line, bytes);
  }

  private keep(part: Buffer): void {
    if (this.keptBytes + part.length > this.maxBytes) this.overflow();
    else this.append(part);
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
  }

  private overflow(): false {
    this.close();
    this.sink.overflow();
    return false;
  }
}
