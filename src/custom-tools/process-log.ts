import { Injectable } from '@nestjs/common';
import { ProcessMetrics } from '../observability/process-metrics.js';
import { ToolLog } from '../observability/tool-log.js';
import type { PoolEvent } from '../process-pool/pool.types.js';
import { CustomToolRuntimes } from './custom-tool-runtimes.js';

/** Writes what happens to processes into log (seed 003's events) and metrics: the pool itself knows neither. */
@Injectable()
export class ProcessLog {
  private readonly noisy = new Set<number>();

  constructor(
    runtimes: CustomToolRuntimes,
    private readonly log: ToolLog,
    private readonly metrics: ProcessMetrics,
  ) {
    runtimes.events.subscribe((event) => this.on(event));
  }

  /** A tool may chatter by the megabyte: the first stray line of each process is worth a line of ours. */
  private noise({ pool: tool, pid }: Extract<PoolEvent, { type: 'noise' }>): void {
    if (this.noisy.has(pid)) return;
    this.noisy.add(pid);
    this.log.write({ tool, event: 'error', pid, error: 'writes lines to stdout that are no messages' });
  }

  private on(event: PoolEvent): void {
    const tool = event.pool;
    switch (event.type) {
      case 'spawn':
        this.metrics.spawned(tool);
        return this.log.write({ tool, event: 'spawn', durationMs: event.durationMs, pid: event.pid });
      case 'terminate': {
        const { pid, reason, exitCode, signal } = event;
        const faulty = reason === 'crash' || reason === 'protocol' || reason === 'output';
        this.noisy.delete(pid);
        this.metrics.terminated(tool, reason);
        return this.log.write({
          tool,
          event: 'terminate',
          pid,
          reason,
          exitCode,
          signal,
          ...(faulty && { error: reason }),
        });
      }
      case 'start_failed':
        return this.log.write({
          tool,
          event: 'error',
          error: `start ${event.failures} failed: ${event.error}`,
        });
      case 'failed':
        return this.log.write({ tool, event: 'error', error: event.error });
      case 'recovered':
        return this.log.write({ tool, event: 'health', reason: 'recovered' });
      case 'noise':
        this.metrics.strayLine(tool);
        return this.noise(event);
      case 'log':
        // What tools say is theirs: it follows the call, and is no line of our log.
        return;
      default:
        return event satisfies never;
    }
  }
}
