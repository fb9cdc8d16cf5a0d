import { Injectable } from '@nestjs/common';
import { ProcessMetrics } from '../observability/process-metrics.js';
import { ToolLog } from '../observability/tool-log.js';
import type { PoolEvent } from '../process-pool/pool.types.js';
import { CustomToolRuntimes } from './custom-tool-runtimes.js';

/** Writes what happens to processes into log (seed 003's events) and metrics: the pool itself knows neither. */
@Injectable()
export class ProcessLog {
  constructor(
    runtimes: CustomToolRuntimes,
    private readonly log: ToolLog,
    private readonly metrics: ProcessMetrics,
  ) {
    runtimes.events.subscribe((event) => this.on(event));
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
        return this.log.write({ tool, event: 'error', pid: event.pid, error: 'stray line on stdout' });
      default:
        return event satisfies never;
    }
  }
}
