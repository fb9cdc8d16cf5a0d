import { Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';

/** Kinds of events. */
export type ToolLogEvent = 'spawn' | 'execute' | 'response' | 'error' | 'health' | 'terminate';

/** One event of a tool, logged with the logger's timestamp and level. Contains no payloads. */
export interface ToolLogEntry {
  readonly tool: string;
  readonly event: ToolLogEvent;
  readonly requestId?: string;
  readonly durationMs?: number;
  readonly error?: string;
  readonly pid?: number;
  /** Reason why a process ended. */
  readonly reason?: string;
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly stderrTail?: string;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Log levels. Calls are frequent and recorded elsewhere, so they are logged at a low level. */
const levels: Record<ToolLogEvent, Level> = {
  spawn: 'info',
  execute: 'debug',
  response: 'debug',
  error: 'error',
  health: 'debug',
  terminate: 'info',
};

/** Logs events of tools. All of them are logged here, so that their fields are the same. */
@Injectable()
export class ToolLog {
  /** Whether all entries are logged. If not, a hot path need not build them. */
  readonly isVerbose: boolean;

  constructor(private readonly logger: PinoLogger) {
    this.isVerbose = logger.logger.isLevelEnabled('debug');
  }

  write(entry: ToolLogEntry): void {
    this.logger[levelOf(entry)](entry, `tool ${entry.event}`);
  }
}

/** The log level of an entry. Failed processes and health checks have a higher one; failed answers are in the metrics. */
export function levelOf({ event, error }: ToolLogEntry): Level {
  const failed = error !== undefined && (event === 'health' || event === 'terminate' || event === 'spawn');
  return failed ? 'warn' : levels[event];
}
