import { Buffer } from 'node:buffer';

/** Where whole lines go. */
export interface LineSink {
  /** One line without its newline; `bytes` is its length on the wire. Invalid UTF-8 reads as U+FFFD. */
  line(text: string, bytes: number): void;
  /** A line is longer than the cap; nothing more will be said. */
  overflow(): void;
}

const newline = 10;

/**
 * What of a line is longer than this is kept in blocks of this size: so large a block is given back to the system when
 * it is freed, where thousands of chunks would leave holes in the heap.
 */
const blockBytes = 262_144;
const nothing = Buffer.alloc(0);

/**
 * Splits a byte stream into lines of at most `maxBytes` bytes. Chunks of an unfinished line are kept as a list and
 * joined once, when its end is found: a concatenation for every chunk costs nine times as much at 1 MB a line.
 */
export class LineFramer {
  private kept: Buffer[] = [];
  private keptBytes = 0;
  /** What is free of the last block. */
  private room: Buffer = nothing;
  private closed = false;

  constructor(
    private readonly maxBytes: number,
    private readonly sink: LineSink,
  ) {}

  /** @param chunk may be written over when this returns */
  push(chunk: Buffer): void {
    let from = 0;
    while (!this.closed) {
      const at = chunk.indexOf(newline, from);
      if (at === -1) break;
      this.finishLine(chunk, from, at);
      from = at + 1;
    }
    if (!this.closed && from < chunk.length) this.keep(from === 0 ? chunk : chunk.subarray(from));
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

  private finishLine(chunk: Buffer, from: number, to: number): void {
    const bytes = this.keptBytes + to - from;
    if (bytes > this.maxBytes) return this.overflow();
    if (this.keptBytes === 0) return this.sink.line(chunk.toString('utf8', from, to), bytes);
    const whole = Buffer.concat([...this.kept, chunk.subarray(from, to)], bytes);
    this.forget();
    this.sink.line(whole.toString('utf8'), bytes);
  }

  private keep(part: Buffer): void {
    this.keptBytes += part.length;
    if (this.keptBytes > this.maxBytes) this.overflow();
    else if (this.keptBytes <= blockBytes) this.kept.push(Buffer.from(part));
    else this.keepInBlocks(part);
  }

  private keepInBlocks(part: Buffer): void {
    for (let from = 0; from < part.length;) {
      if (this.room.length === 0) this.room = Buffer.allocUnsafeSlow(blockBytes);
      const copied = part.copy(this.room, 0, from);
      this.kept.push(this.room.subarray(0, copied));
      this.room = this.room.subarray(copied);
      from += copied;
    }
  }

  private forget(): void {
    this.kept = [];
    this.keptBytes = 0;
    this.room = nothing;
  }

  private overflow(): void {
    this.close();
    this.sink.overflow();
  }
}
