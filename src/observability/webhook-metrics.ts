import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';

/** How webhooks arrive. */
@Injectable()
export class WebhookMetrics {
  private readonly results: Counter<'result'>;
  private depth = (): number => 0;

  constructor(registry: Registry) {
    const registers = [registry];
    this.results = new Counter({
      name: 'toolkeeper_webhooks_total',
      help: 'Webhooks: delivered, tried again (retried), given up after all tries, dropped because too many waited',
      labelNames: ['result'],
      registers,
    });
    const depth = (): number => this.depth();
    new Gauge({
      name: 'toolkeeper_webhooks_waiting',
      help: 'Webhooks that were not taken yet',
      registers,
      collect() {
        this.set(depth());
      },
    });
  }

  count(result: 'delivered' | 'retried' | 'given_up' | 'dropped'): void {
    this.results.inc({ result });
  }

  observe(depth: () => number): void {
    this.depth = depth;
  }
}
