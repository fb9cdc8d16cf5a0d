import type { PoolEvent, ProcessNews } from '../../process-pool/pool.types.js';
import { cleanNotice, type Redactor } from '../../secrets/redactor.js';
import type { LogBook, LogEntry } from './tool-logs.js';
import type { LineBudget } from '../../process-pool/line-budget.js';

type LogNews = Extract<ProcessNews, { type: 'log' }>;

/** Writes the output of one tool's processes (stderr, unparsed lines on stdout, notifications) to the tool's log. */
export class PoolOutput {
  private readonly processes = new Map<number, OutputLines>();
  /** Lines skipped since the last report, by kind. */
  private readonly skipped = new Map<string, number>();

  constructor(
    private readonly book: LogBook,
    private readonly redactor: Redactor,
  ) {}

  on(event: PoolEvent | ProcessNews): void {
    switch (event.type) {
      case 'stderr':
        return this.linesOf(event.pid).push(event.chunk);
      case 'unparsed':
        return this.stray(event);
      case 'log':
        return this.log(event);
      case 'terminate':
        this.processes.get(event.pid)?.end();
        this.processes.delete(event.pid);
        return this.reportSkipped();
      default:
    }
  }

  private linesOf(pid: number): OutputLines {
    const known = this.processes.get(pid);
    if (known) return known;
    const lines = new OutputLines(this.book.maxLineBytes, this.book.budget, {
      line: (text, cut) => this.write({ event: 'stderr', level: 'info', pid }, text, cut),
      skipped: (bytes) => this.report(`${bytes} bytes of stderr are not logged`, pid),
    });
    this.processes.set(pid, lines);
    return lines;
  }

  private stray({ pid, line, lines }: Extract<ProcessNews, { type: 'unparsed' }>): void {
    if (this.affords('stray lines on stdout', lines))
      this.write({ event: 'stdout', level: 'warn', pid }, line, false);
  }

  private log({ pid, notice, executionId }: LogNews): void {
    if (!this.affords('log notifications')) return;
    const { maxLineBytes } = this.book;
    const { level, data, ...text } = notice;
    const fits = data === undefined || Buffer.byteLength(JSON.stringify(data)) <= maxLineBytes;
    const clean = cleanNotice({ ...text, level, ...(fits && { data }) }, this.redactor);
    const message = upTo(maxLineBytes, clean.message);
    this.append({
      event: 'log',
      level,
      pid,
      message,
      ...(clean.data !== undefined && { data: clean.data }),
      ...(executionId !== undefined && { executionId }),
      ...(!(fits && message === clean.message) && { truncated: true as const }),
    });
  }

  private affords(what: string, lines = 1): boolean {
    if (!this.book.budget.take()) {
      this.skipped.set(what, (this.skipped.get(what) ?? 0) + lines);
      return false;
    }
    this.reportSkipped();
    return true;
  }

  private reportSkipped(): void {
    for (const [what, count] of this.skipped) this.report(`${count} ${what} are not logged`);
    this.skipped.clear();
  }

  private report(what: string, pid?: number): void {
    const message = `${what}: more lines than are logged in a second`;
    this.append({ event: 'error', level: 'warn', message, ...(pid !== undefined && { pid }) });
  }

  private write(entry: Pick<LogEntry, 'event' | 'level' | 'pid'>, text: string, cut: boolean): void {
    // The pool may have shortened an unparsed line without marking it.
    const message = this.redactor.clean(text, { end: cut || entry.event === 'stdout' });
    this.append({ ...entry, message, ...(cut && { truncated: true as const }) });
  }

  private append(entry: Omit<LogEntry, 'timestamp' | 'tool' | 'replica'>): void {
    const { tool, replica, ring } = this.book;
    ring.append({ timestamp: new Date().toISOString(), tool, replica, ...entry });
  }
}

/** Cuts a text to as many whole characters as fit. */
function upTo(maxBytes: number, text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= maxBytes
    ? text
    : new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
}

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
