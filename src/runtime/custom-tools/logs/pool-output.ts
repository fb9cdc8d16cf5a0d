import type { PoolEvent, ProcessNews } from '../../process-pool/pool.types.js';
import { cleanNotice, type Redactor } from '../../secrets/redactor.js';
import { levelIn } from './log-level.js';
import type { LogBook, LogEntry } from './tool-logs.js';

type LogNews = Extract<ProcessNews, { type: 'log' }>;

/** Writes the output of one tool's processes (stderr, unparsed lines on stdout, notifications) to the tool's log. */
export class PoolOutput {
  /** Entries skipped since the last report, by kind. */
  private readonly skipped = new Map<string, { readonly pid: number | undefined; readonly count: number }>();

  constructor(
    private readonly book: LogBook,
    private readonly redactor: Redactor,
  ) {}

  on(event: PoolEvent | ProcessNews): void {
    switch (event.type) {
      case 'stderr':
        return this.stderr(event);
      case 'unparsed':
        return this.stray(event);
      case 'log':
        return this.log(event);
      case 'terminate':
        return this.reportSkipped();
      default:
    }
  }

  private stderr({
    pid,
    line,
    cut,
    skippedBytes,
    executionId,
  }: Extract<ProcessNews, { type: 'stderr' }>): void {
    const what = 'bytes of stderr';
    if (skippedBytes > 0) return this.skip(what, skippedBytes, pid);
    if (!this.affords(what, Buffer.byteLength(line), pid)) return;
    const text = upTo(this.book.maxLineBytes, line);
    this.write(
      { event: 'stderr', level: levelIn(line) ?? 'info', pid, executionId },
      text,
      cut || text !== line,
    );
  }

  private stray({ pid, line, lines }: Extract<ProcessNews, { type: 'unparsed' }>): void {
    if (this.affords('stray lines on stdout', lines))
      this.write({ event: 'stdout', level: levelIn(line) === 'error' ? 'error' : 'warn', pid }, line, false);
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

  private affords(what: string, count = 1, pid?: number): boolean {
    const isLogged = this.book.budget.take();
    if (isLogged) this.reportSkipped();
    else this.skip(what, count, pid);
    return isLogged;
  }

  private skip(what: string, count: number, pid?: number): void {
    this.skipped.set(what, { pid, count: (this.skipped.get(what)?.count ?? 0) + count });
  }

  private reportSkipped(): void {
    for (const [what, { count, pid }] of this.skipped) {
      const message = `${count} ${what} are not logged: more lines than are logged in a second`;
      this.append({ event: 'error', level: 'warn', message, ...(pid !== undefined && { pid }) });
    }
    this.skipped.clear();
  }

  private write(
    entry: Pick<LogEntry, 'event' | 'level' | 'pid' | 'executionId'>,
    text: string,
    cut: boolean,
  ): void {
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
