import { Buffer } from 'node:buffer';

/** Where whole lines go. */
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

/** The largest block: one of this size is given back to the system when it is freed, and leaves no hole in the heap. */
const blockBytes = 262_144;
const nothing = Buffer.alloc(0);

/**
 * Splits a byte stream into lines of at most `maxBytes` bytes. An unfinished line is kept in blocks that grow with it
 * and are joined once, when its end is found: a concatenation for every chunk costs nine times as much at 1 MB a line,
 * and a list of chunks a hundred times its bytes where they come singly.
 */
export class LineFramer {
  /** The unfinished line so far: full blocks, and one that has room left. */
  private full: Buffer[] = [];
  private last = nothing;
  private lastBytes = 0;
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
    const kept = [...this.full, this.last.subarray(0, this.lastBytes)];
    const whole = Buffer.concat([...kept, chunk.subarray(from, to)], bytes);
    this.forget();
    return this.sink.line(whole.toString('utf8'), bytes);
  }

  private keep(part: Buffer): void {
    const before = this.keptBytes;
    this.keptBytes += part.length;
    if (this.keptBytes > this.maxBytes) return void this.overflow();
    const copied = part.copy(this.last, this.lastBytes);
    this.lastBytes += copied;
    if (copied === part.length) return;
    if (this.lastBytes > 0) this.full.push(this.last);
    const left = part.length - copied;
    this.last = Buffer.allocUnsafe(Math.max(left, Math.min(before, blockBytes)));
    this.lastBytes = part.copy(this.last, 0, copied);
  }

  private forget(): void {
    this.full = [];
    this.last = nothing;
    this.lastBytes = 0;
    this.keptBytes = 0;
  }

  private overflow(): false {
    this.close();
    this.sink.overflow();
    return false;
  }
}
