import { Inject, Injectable } from '@nestjs/common';
import { EventRing } from '../../streams/event-ring.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { LineBudget } from '../../process-pool/line-budget.js';
import type { ToolLogEntry, ToolLogEvent } from '../../observability/tool-log.js';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Toolkeeper's own events, and what the tool writes: to its pipes, or as `log` notifications. */
export type LogEvent = ToolLogEvent | 'stderr' | 'stdout' | 'log';

/** One line of a tool's log. */
export interface LogEntry extends Omit<ToolLogEntry, 'event'> {
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly event: LogEvent;
  /** The line that the tool wrote, or what happened in words. */
  readonly message?: string;
  /** Any JSON value that came with a `log` notification. */
  readonly data?: unknown;
  /** The call that a `log` notification is about. */
  readonly executionId?: string;
  /** Message or data were longer than is kept; such data are left out. */
  readonly truncated?: true;
}

/** What is kept of one tool's log. */
export type LogRing = EventRing<LogEntry>;

/** One tool's log and what its processes may still write into it. */
export interface LogBook {
  readonly tool: string;
  readonly ring: LogRing;
  readonly budget: LineBudget;
  readonly maxLineBytes: number;
}

/** The logs of the tools that this server runs, in memory. */
@Injectable()
export class ToolLogs {
  private readonly books = new Map<string, LogBook>();
  private readonly statuses = new Map<string, string>();
  private readonly limits: AppConfig['toolLogs'];

  constructor(@Inject(APP_CONFIG) { toolLogs }: Pick<AppConfig, 'toolLogs'>) {
    this.limits = toolLogs;
  }

  /** The tool's log, a new one for a tool that had none. */
  open(tool: string): LogBook {
    const known = this.books.get(tool);
    if (known) return known;
    const book = this.apart(tool);
    this.books.set(tool, book);
    return book;
  }

  /** A log beside the tool's own, of what a trial writes; it goes with its holder. */
  apart(tool: string): LogBook {
    const { maxLineBytes, linesPerSecond } = this.limits;
    const ring = new EventRing<LogEntry>(this.limits);
    return { tool, ring, budget: new LineBudget(linesPerSecond), maxLineBytes };
  }

  /** What happened to a tool; a tool without a log is one that is gone. */
  append(entry: Omit<LogEntry, 'timestamp'>): void {
    this.books.get(entry.tool)?.ring.append({ timestamp: new Date().toISOString(), ...entry });
  }

  /** Writes a status down if it is another one than before. */
  status(tool: string, status: string, reason?: string | null): void {
    const before = this.statuses.get(tool);
    if (before === status) return;
    this.statuses.set(tool, status);
    const level = status === 'error' ? 'error' : 'info';
    const message = before === undefined ? `status ${status}` : `status ${before} → ${status}`;
    this.open(tool);
    this.append({ tool, level, event: 'health', message, ...(reason && { error: reason }) });
  }

  forget(tool: string): void {
    this.books.get(tool)?.ring.close();
    this.books.delete(tool);
    this.statuses.delete(tool);
  }
}
