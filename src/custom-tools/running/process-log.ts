import { Injectable } from '@nestjs/common';
import { levelOf, ToolLog, type ToolLogEntry } from '../../observability/tool-log.js';
import { RunningTools, type RuntimeEvent } from './running-tools.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { ToolLogs } from '../logs/tool-logs.js';

/** Writes what happens to processes into the server's log and the tools' own. */
@Injectable()
export class ProcessLog {
  private readonly noisy = new Set<number>();

  constructor(
    running: RunningTools,
    repository: CustomToolsRepository,
    private readonly log: ToolLog,
    private readonly logs: ToolLogs,
  ) {
    running.events.subscribe((event) => this.on(event));
    repository.conditions.subscribe(({ name, status, errorMessage }) => {
      if (status) this.logs.status(name, status, errorMessage);
    });
  }

  private on(event: RuntimeEvent): void {
    const tool = event.pool;
    switch (event.type) {
      case 'starting':
        return this.logs.append({ tool, level: 'debug', event: 'spawn', message: 'a process is started' });
      case 'spawn': {
        const { pid } = event;
        const durationMs = Math.round(event.durationMs);
        return this.write({ tool, event: 'spawn', durationMs, pid }, 'the process is ready');
      }
      case 'terminate':
        return this.terminated(event);
      case 'start_failed':
        return this.write({ tool, event: 'error', error: `start ${event.failures} failed: ${event.error}` });
      case 'failed':
        return this.write({ tool, event: 'error', error: event.error });
      case 'recovered':
        return this.write({ tool, event: 'health', reason: 'recovered' });
      case 'noise':
        return this.noise(event);
      default:
        return event satisfies never;
    }
  }

  private terminated(event: Extract<RuntimeEvent, { type: 'terminate' }>): void {
    const { pool: tool, pid, reason, exitCode, signal, why } = event;
    const faulty = ['crash', 'protocol', 'output', 'flood'].includes(reason);
    this.noisy.delete(pid);
    const how = signal === null ? `exit code ${exitCode}` : signal;
    this.write(
      { tool, event: 'terminate', pid, reason, exitCode, signal, ...(faulty && { error: why ?? reason }) },
      `the process ended with ${how} (${reason})${why === undefined ? '' : `: ${why}`}`,
    );
  }

  /** A tool may chatter by the megabyte: the first stray line of each process is worth a line of the server's log. */
  private noise({ pool: tool, pid }: Extract<RuntimeEvent, { type: 'noise' }>): void {
    if (this.noisy.has(pid)) return;
    this.noisy.add(pid);
    this.log.write({ tool, event: 'error', pid, error: 'writes lines to stdout that are no messages' });
  }

  /** Into the server's log and the tool's own. */
  private write(entry: ToolLogEntry, message?: string): void {
    this.log.write(entry);
    this.logs.append({ ...entry, level: levelOf(entry), ...(message !== undefined && { message }) });
  }
}
