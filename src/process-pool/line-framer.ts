import { Buffer } from 'node:buffer';

/** Receives whole lines. */
export interface LineSink {
  /**
   * One line without its newline; `bytes` is its length on the wire. Invalid UTF-8 reads as U+FFFD.
   * @returns false: no more lines now
   */
  line(text: string, bytes: number): boolean;
  /** A line is longer than the cap; nothing more will be said. */
  overflow(): void;
}

const newline = 10;

const nothing = Buffer.alloc(0);

/**
 * Splits a byte stream into lines of at most `maxBytes` bytes. An unfinished line is kept in a buffer that doubles as it
 * grows: a concatenation for every chunk costs nine times as much at 1 MB a line, and a list of chunks a hundred times
 * its bytes where they come singly.
 */
export class LineFramer {
  /** Holds the unfinished line, which is so many bytes long. */
  private kept = nothing;
  private keptBytes = 0;
  private closed = false;

  constructor(
    private readonly maxBytes: number,
    private readonly sink: LineSink,
  ) {}

  /**
   * @param chunk may be written over when this returns
   * @returns how many of its bytes were taken: all, unless no more lines are wanted now
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

  /** The stream ended: what came after the last newline is a line too. */
  end(): void {
    if (!this.closed && this.keptBytes > 0) this.finishLine(nothing, 0, 0);
    this.close();
  }

  /** Nothing more is wanted; what still arrives is dropped. */
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
