import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';

/** Answers for which nothing was run. */
@Injectable()
export class RepetitionMetrics {
  private readonly replays: Counter<'tool'>;
  private readonly cacheAnswers: Counter<'tool' | 'kind'>;
  private cacheBytes = (): number => 0;

  constructor(registry: Registry) {
    const registers = [registry];
    this.replays = new Counter({
      name: 'toolkeeper_idempotent_replays_total',
      help: 'Calls that were answered with the outcome of an earlier one with the same idempotency key',
      labelNames: ['tool'],
      registers,
    });
    this.cacheAnswers = new Counter({
      name: 'toolkeeper_cached_answers_total',
      help: 'Calls that were answered with a kept result (kept) or with that of an equal call under way (shared)',
      labelNames: ['tool', 'kind'],
      registers,
    });
    const bytes = (): number => this.cacheBytes();
    new Gauge({
      name: 'toolkeeper_result_cache_bytes',
      help: 'Results that are kept for other calls, as JSON',
      registers,
      collect() {
        this.set(bytes());
      },
    });
  }

  cached(tool: string, kind: 'kept' | 'shared'): void {
    this.cacheAnswers.inc({ tool, kind });
  }

  observe(cacheBytes: () => number): void {
    this.cacheBytes = cacheBytes;
  }

  replayed(tool: string): void {
    this.replays.inc({ tool });
  }
}
