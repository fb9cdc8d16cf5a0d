import type { ToolLogEntry, ToolLogEvent } from '../../observability/tool-log.js';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Seed 003's events, and what a tool writes. */
export type LogEvent = ToolLogEvent | 'stderr' | 'stdout';

/** One line of a tool's log (seed 003's structured format). */
export interface LogEntry extends Omit<ToolLogEntry, 'event'> {
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly event: LogEvent;
  /** The line that the tool wrote, or what happened in words. */
  readonly message?: string;
  /** The line was longer than is kept. */
  readonly truncated?: true;
}

/** An entry with its place in the log. */
export interface StoredEntry extends LogEntry {
  /** Opaque; sorts nothing. */
  readonly id: string;
}
