import type { EventRing } from '../../common/event-ring.js';
import type { ToolLogEntry, ToolLogEvent } from '../../observability/tool-log.js';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Seed 003's events, and what a tool writes: to its pipes, or as `log` notifications. */
export type LogEvent = ToolLogEvent | 'stderr' | 'stdout' | 'log';

/** One line of a tool's log (seed 003's structured format). */
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
