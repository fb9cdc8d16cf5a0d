import type { PoolEvent } from '../../process-pool/pool.types.js';
import type { Redactor } from '../secrets/redactor.js';
import type { LogEntry } from './log-entry.js';
import { OutputLines } from './output-lines.js';
import type { LogBook } from './tool-logs.js';

/** Brings what the processes of one pool write (stderr, stray lines on stdout) into their tool's log. */
export class PoolOutput {
  private readonly processes = new Map<number, OutputLines>();
  private skippedNoise = 0;

  constructor(
    private readonly book: LogBook,
    private readonly redactor: Redactor,
  ) {}

  on(event: PoolEvent): void {
    switch (event.type) {
      case 'stderr':
        return this.linesOf(event.pid).push(event.chunk);
      case 'noise':
        return this.stray(event.pid, event.line);
      case 'terminate':
        this.processes.get(event.pid)?.end();
        this.processes.delete(event.pid);
        return this.saySkippedNoise();
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

  private stray(pid: number, line: string): void {
    if (!this.book.budget.take()) {
      this.skippedNoise++;
      return;
    }
    this.saySkippedNoise();
    this.write({ event: 'stdout', level: 'warn', pid }, line, false);
  }

  private saySkippedNoise(): void {
    if (this.skippedNoise > 0) this.say(`${this.skippedNoise} stray lines on stdout are not logged`);
    this.skippedNoise = 0;
  }

  private say(what: string, pid?: number): void {
    const message = `${what}: more lines than CUSTOM_TOOLS_LOG_LINES_PER_SECOND`;
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
