import type { PoolEvent, ProcessNews } from '../../process-pool/pool.types.js';
import { cleanNotice, type Redactor } from '../../secrets/redactor.js';
import { levelIn } from './log-level.js';
import type { LogBook, LogEntry } from './tool-logs.js';

type StderrNews = Extract<ProcessNews, { type: 'stderr' }>;
type UnparsedNews = Extract<ProcessNews, { type: 'unparsed' }>;
type LogNews = Extract<ProcessNews, { type: 'log' }>;

/** An entry of the tool's log, except for the members that are the same in all entries of a tool. */
type NewEntry = Omit<LogEntry, 'timestamp' | 'tool' | 'replica'>;

/**
 * Writes the output of one tool's processes to the tool's log: stderr, lines on stdout that are no messages, and
 * notifications. Lines beyond the log's budget are skipped; their number is logged later.
 */
export class PoolOutput {
  /**
   * Output skipped since the last report, by its description, such as `bytes of stderr`. Without `pid` if it is of several
   * processes.
   */
  private readonly skipped = new Map<string, { readonly pid: number | undefined; readonly count: number }>();

  constructor(
    private readonly book: LogBook,
    private readonly redactor: Redactor,
  ) {}

  /** Logs an event of a pool if it is output. */
  on(event: PoolEvent | ProcessNews): void {
    switch (event.type) {
      case 'stderr':
        return this.stderr(event);
      case 'unparsed':
        return this.unparsed(event);
      case 'log':
        return this.log(event);
      case 'terminate':
        return this.reportSkipped();
      // The other events are no output; the supervisor logs them.
      default:
    }
  }

  private stderr({ pid, line, cut, skippedBytes, executionId }: StderrNews): void {
    const what = 'bytes of stderr';
    // The pool only counts the bytes of a flood, and passes none of its lines on.
    if (skippedBytes > 0) return this.skip(what, pid, skippedBytes);
    if (!this.takeFromBudget(what, pid, Buffer.byteLength(line))) return;
    const text = upTo(this.book.maxLineBytes, line);
    const isCut = cut || text !== line;
    const message = this.redactor.clean(text, { end: isCut });
    const level = levelIn(line) ?? 'info';
    this.append({ event: 'stderr', level, pid, executionId, message, ...(isCut && { truncated: true }) });
  }

  /** Logs one line on stdout that is no message, as event `stdout`. */
  private unparsed({ pid, line, lines }: UnparsedNews): void {
    if (!this.takeFromBudget('unparsed lines on stdout', pid, lines)) return;
    // The end may hold the beginning of a secret: the pool cuts unparsed lines without marking them.
    const message = this.redactor.clean(line, { end: true });
    const level = levelIn(line) === 'error' ? 'error' : 'warn';
    this.append({ event: 'stdout', level, pid, message });
  }

  private log({ pid, notice, executionId }: LogNews): void {
    if (!this.takeFromBudget('log notifications', pid)) return;
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

  /**
   * Takes one line from the budget. If one is left, first logs how much was skipped before; else counts the line as
   * skipped.
   * @param count amount of output that the line stands for, in the unit that `what` names
   * @returns whether the line may be logged
   */
  private takeFromBudget(what: string, pid: number, count = 1): boolean {
    const isLogged = this.book.budget.take();
    if (isLogged) this.reportSkipped();
    else this.skip(what, pid, count);
    return isLogged;
  }

  private skip(what: string, pid: number, count: number): void {
    const before = this.skipped.get(what);
    const isOfOne = before === undefined || before.pid === pid;
    this.skipped.set(what, { pid: isOfOne ? pid : undefined, count: (before?.count ?? 0) + count });
  }

  /** Logs how much was skipped since the last report. */
  private reportSkipped(): void {
    for (const [what, { count, pid }] of this.skipped) {
      const message = `${count} ${what} were skipped: the tool writes more lines per second than are logged`;
      this.append({ event: 'error', level: 'warn', message, ...(pid !== undefined && { pid }) });
    }
    this.skipped.clear();
  }

  private append(entry: NewEntry): void {
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
