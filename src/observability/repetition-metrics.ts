import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';

/** Answers for which nothing was run. */
@Injectable()
export class RepetitionMetrics {
  private readonly replays: Counter<'tool'>;

  constructor(registry: Registry) {
    this.replays = new Counter({
      name: 'toolkeeper_idempotent_replays_total',
      help: 'Calls that were answered with the outcome of an earlier one with the same idempotency key',
      labelNames: ['tool'],
      registers: [registry],
    });
  }

  replayed(tool: string): void {
    this.replays.inc({ tool });
  }
}
