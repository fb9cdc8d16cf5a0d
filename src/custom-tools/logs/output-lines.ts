import type { LineBudget } from '../../process-pool/line-budget.js';

export interface OutputSink {
  /** One line, decoded; `cut`: its end was left out. */
  line(text: string, cut: boolean): void;
  /** Bytes that were not even looked at, because the tool wrote more lines than are logged. */
  skipped(bytes: number): void;
}

const newline = 10;

/**
 * Cuts a stream of bytes into lines for a log. It costs the same however much is written: a long line is kept up to
 * its cap, and when the budget of lines is spent, bytes are counted and dropped unread.
 */
export class OutputLines {
  private readonly line: Buffer;
  private length = 0;
  private cut = false;
  /** The beginning of the current line was dropped: so is its rest. */
  private inDropped = false;
  private droppedBytes = 0;
  /** A line was paid for before its first byte is kept. */
  private paid = false;

  constructor(
    maxLineBytes: number,
    private readonly budget: LineBudget,
    private readonly sink: OutputSink,
  ) {
    this.line = Buffer.allocUnsafe(maxLineBytes);
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (!this.paid && !this.budget.take()) return this.drop(chunk, at);
      this.paid = true;
      const end = chunk.indexOf(newline, at);
      const until = end === -1 ? chunk.length : end;
      if (this.inDropped) this.droppedBytes += until - at;
      else this.keep(chunk, at, until);
      if (end === -1) return;
      this.endLine();
      at = end + 1;
    }
  }

  /** The stream ended; what came after the last line break is a line, too. */
  end(): void {
    if (this.length > 0) this.endLine();
    this.sayDropped();
  }

  /** Nothing of it is read but its last byte. */
  private drop(chunk: Buffer, from: number): void {
    this.droppedBytes += chunk.length - from;
    this.inDropped = chunk[chunk.length - 1] !== newline;
  }

  private keep(chunk: Buffer, from: number, until: number): void {
    const room = this.line.length - this.length;
    if (until - from > room) this.cut = true;
    this.length += chunk.copy(this.line, this.length, from, Math.min(until, from + room));
  }

  private endLine(): void {
    this.sayDropped();
    const text = this.line.toString('utf8', 0, this.wholeCharacters()).trimEnd();
    if (!this.inDropped && text !== '') this.sink.line(text, this.cut);
    this.inDropped = false;
    this.paid = false;
    this.cut = false;
    this.length = 0;
  }

  private sayDropped(): void {
    if (this.droppedBytes > 0) this.sink.skipped(this.droppedBytes);
    this.droppedBytes = 0;
  }

  /** A line that was cut may end within a character of several bytes: that one is left out. */
  private wholeCharacters(): number {
    if (!this.cut) return this.length;
    let start = this.length - 1;
    while (start > 0 && start > this.length - 4 && (this.byteAt(start) & 0xc0) === 0x80) start--;
    const lead = this.byteAt(start);
    const needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return start + needs <= this.length ? this.length : start;
  }

  private byteAt(index: number): number {
    return this.line[index] ?? 0;
  }
}
