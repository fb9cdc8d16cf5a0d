import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { EventRing } from '../../../base/streams/event-ring.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { Replicas } from '../../../base/database/replicas.js';
import { LineBudget } from '../../process-pool/line-framer.js';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Toolkeeper's own events, and what the tool writes: to its pipes, or as `log` notifications. */
const logEvents = [
  ...(['spawn', 'execute', 'response', 'error', 'health', 'terminate'] as const),
  ...(['stderr', 'stdout', 'log'] as const),
];
export type LogEvent = (typeof logEvents)[number];

/** One line of a tool's log. */
export class LogEntryView {
  @ApiProperty({ example: 'mhq3k2x1-42' }) readonly id!: string;
  @ApiProperty({ format: 'date-time', example: '2026-01-23T10:30:00.000Z' }) readonly timestamp!: string;
  @ApiProperty({ enum: logLevels, example: 'info' }) readonly level!: LogLevel;
  @ApiProperty({ example: 'log_summary' }) readonly tool!: string;
  @ApiProperty({ example: 'gateway-2:17:mhq3k2x1', description: 'Where the line was written' })
  readonly replica!: string;
  @ApiProperty({
    enum: logEvents,
    example: 'stderr',
    description:
      'spawn: a process starts, or is ready; terminate: it ended; error: a start failed, or lines were left out; health: the status changed; stderr, stdout: a line that the tool wrote; log: what it said in a log notification',
  })
  readonly event!: LogEvent;
  @ApiPropertyOptional({ example: '3 lines had no time' }) readonly message?: string;
  @ApiPropertyOptional({ example: 4711 }) readonly pid?: number;
  @ApiPropertyOptional({ example: 18.2, description: 'Of a start, from spawn to ready' })
  readonly durationMs?: number;
  @ApiPropertyOptional({ example: 'crash' }) readonly error?: string;
  @ApiPropertyOptional({ example: 'idle', description: 'Why a process ended' }) readonly reason?: string;
  @ApiPropertyOptional({ type: Number, nullable: true, example: 0 }) readonly exitCode?: number | null;
  @ApiPropertyOptional({ type: String, nullable: true, example: null }) readonly signal?: string | null;
  @ApiPropertyOptional({ example: { lines: 3 }, description: 'Of a log notification, any JSON value' })
  readonly data?: unknown;
  @ApiPropertyOptional({
    example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
    description: 'The call that a log notification is about',
  })
  readonly executionId?: string;
  @ApiPropertyOptional({
    example: true,
    description: 'More than 4 KiB: a message is cut off, data are left out',
  })
  readonly truncated?: true;
}

export type LogEntry = Omit<LogEntryView, 'id'>;

/** Latest entries of one tool's log. */
export type LogRing = EventRing<LogEntry>;

/** One tool's log and what its processes may still write into it. */
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
  private readonly statuses = new Map<string, string>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'toolLogs'>,
    private readonly replicas: Replicas,
  ) {}

  /** The tool's log, a new one for a tool that had none. */
  open(tool: string): LogBook {
    const known = this.books.get(tool);
    if (known) return known;
    const book = this.apart(tool);
    this.books.set(tool, book);
    return book;
  }

  /** A log beside the tool's own, of what a dry run writes; it goes with its holder. */
  apart(tool: string): LogBook {
    const { maxLineBytes, linesPerSecond } = this.config.toolLogs;
    // Replicas begin the log of a new tool in the same millisecond.
    const epoch = Date.now().toString(36) + randomBytes(3).toString('hex');
    const ring = new EventRing<LogEntry>(this.config.toolLogs, epoch);
    return { tool, replica: this.replicas.id, ring, budget: new LineBudget(linesPerSecond), maxLineBytes };
  }

  /** Logs an event of a tool; a tool without a log is one that is gone. */
  append(entry: Omit<LogEntry, 'timestamp' | 'replica'>): void {
    const { id: replica } = this.replicas;
    this.books.get(entry.tool)?.ring.append({ timestamp: new Date().toISOString(), replica, ...entry });
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
