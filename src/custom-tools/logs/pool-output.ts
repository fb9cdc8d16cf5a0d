import type { PoolEvent, ProcessNews } from '../../process-pool/pool.types.js';
import { cleanNotice, type Redactor } from '../../secrets/redactor.js';
import { OutputLines } from './output-lines.js';
import type { LogBook, LogEntry } from './tool-logs.js';

type Said = Extract<ProcessNews, { type: 'log' }>;

/** Brings what processes of one tool say (stderr, stray lines on stdout, notifications) into their tool's log. */
export class PoolOutput {
  private readonly processes = new Map<number, OutputLines>();
  /** How many of what were left out since that was last said. */
  private readonly skipped = new Map<string, number>();

  constructor(
    private readonly book: LogBook,
    private readonly redactor: Redactor,
  ) {}

  on(event: PoolEvent | ProcessNews): void {
    switch (event.type) {
      case 'stderr':
        return this.linesOf(event.pid).push(event.chunk);
      case 'noise':
        return this.stray(event);
      case 'log':
        return this.said(event);
      case 'terminate':
        this.processes.get(event.pid)?.end();
        this.processes.delete(event.pid);
        return this.saySkipped();
      default:
    }
  }

  private linesOf(pid: number): OutputLines {
    const known = this.processes.get(pid);
    if (known) return known;
    const lines = new OutputLines(this.book.maxLineBytes, this.book.budget, {
      line: (text, cut) => this.write({ event: 'stderr', level: 'info', pid }, text, cut),
      skipped: (bytes) => this.say(`${bytes} bytes of stderr are not logged`, pid),
    });
    this.processes.set(pid, lines);
    return lines;
  }

  private stray({ pid, line, lines }: Extract<ProcessNews, { type: 'noise' }>): void {
    if (this.affords('stray lines on stdout', lines))
      this.write({ event: 'stdout', level: 'warn', pid }, line, false);
  }

  private said({ pid, notice, executionId }: Said): void {
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
    this.saySkipped();
    return true;
  }

  private saySkipped(): void {
    for (const [what, count] of this.skipped) this.say(`${count} ${what} are not logged`);
    this.skipped.clear();
  }

  private say(what: string, pid?: number): void {
    const message = `${what}: more lines than are logged in a second`;
    this.append({ event: 'error', level: 'warn', message, ...(pid !== undefined && { pid }) });
  }

  private write(entry: Pick<LogEntry, 'event' | 'level' | 'pid'>, text: string, cut: boolean): void {
    // A stray line was shortened by the pool already, which does not say so.
    const message = this.redactor.clean(text, { end: cut || entry.event === 'stdout' });
    this.append({ ...entry, message, ...(cut && { truncated: true as const }) });
  }

  private append(entry: Omit<LogEntry, 'timestamp' | 'tool'>): void {
    this.book.ring.append({ timestamp: new Date().toISOString(), tool: this.book.tool, ...entry });
  }
}

/** As many whole characters as fit. */
function upTo(maxBytes: number, text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= maxBytes
    ? text
    : new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
}
