import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { Replicas } from '../../../base/database/replicas.js';
import { EventRing } from '../../../base/streams/event-ring.js';
import { LineBudget } from '../../process-pool/line-framer.js';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Events that this server logs about the tool. */
const serverEvents = ['spawn', 'execute', 'response', 'error', 'health', 'terminate'] as const;
/** Lines of the tool's pipes, and its `log` notifications. */
const toolEvents = ['stderr', 'stdout', 'log'] as const;
export const logEvents = [...serverEvents, ...toolEvents];
export type LogEvent = (typeof logEvents)[number];

/** One line of a tool's log. */
export interface LogEntry {
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly tool: string;
  readonly replica: string;
  readonly event: LogEvent;
  readonly message?: string;
  readonly pid?: number;
  /** Duration of a start, from spawn to ready. */
  readonly durationMs?: number;
  readonly error?: string;
  readonly reason?: string;
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly data?: unknown;
  readonly executionId?: string | undefined;
  readonly truncated?: true;
}

type LogRing = EventRing<LogEntry>;

/** One tool's log, with the budget of lines that its processes may still write. */
export interface LogBook {
  readonly tool: string;
  readonly replica: string;
  readonly ring: LogRing;
  readonly budget: LineBudget;
  readonly maxLineBytes: number;
}

/** The logs of the tools that this server runs, in memory. */
@Injectable()
export class ToolLogs {
  private readonly books = new Map<string, LogBook>();
  /** The last logged status of each tool. */
  private readonly statuses = new Map<string, string>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'toolLogs'>,
    private readonly replicas: Replicas,
  ) {}

  /** The tool's log, a new one for a tool that had none. */
  open(tool: string): LogBook {
    const known = this.books.get(tool);
    if (known) return known;
    const book = this.detached(tool);
    this.books.set(tool, book);
    return book;
  }

  /** A log outside the tool's own, for a dry run; freed with the returned book. */
  detached(tool: string): LogBook {
    const { maxLineBytes, linesPerSecond } = this.config.toolLogs;
    // Replicas begin the log of a new tool in the same millisecond.
    const epoch = Date.now().toString(36) + randomBytes(3).toString('hex');
    const ring = new EventRing<LogEntry>(this.config.toolLogs, epoch);
    return { tool, replica: this.replicas.id, ring, budget: new LineBudget(linesPerSecond), maxLineBytes };
  }

  /** Logs an event of a tool; does nothing if the tool was removed. */
  append(entry: Omit<LogEntry, 'timestamp' | 'replica'>): void {
    const { id: replica } = this.replicas;
    this.books.get(entry.tool)?.ring.append({ timestamp: new Date().toISOString(), replica, ...entry });
  }

  /** Logs a status if it has changed. */
  logStatus(tool: string, status: string, reason?: string | null): void {
    const before = this.statuses.get(tool);
    if (before === status) return;
    this.statuses.set(tool, status);
    const level = status === 'error' ? 'error' : 'info';
    const message = before === undefined ? `status ${status}` : `status ${before} → ${status}`;
    this.open(tool);
    this.append({ tool, level, event: 'health', message, ...(reason && { error: reason }) });
  }

  /** Deletes the log of a removed tool; streams that follow it end. */
  forget(tool: string): void {
    this.books.get(tool)?.ring.close();
    this.books.delete(tool);
    this.statuses.delete(tool);
  }
}
