import { Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';

/** Whether executions are recorded on days that were made for them; asked for when somebody scrapes. */
@Injectable()
export class PartitionMetrics {
  private source: () => number = () => 0;

  constructor(registry: Registry) {
    const sample = (): number => this.source();
    new Gauge({
      name: 'toolkeeper_metrics_default_partition_rows',
      help: 'Executions on days without a partition of their own, counted every hour up to 10,000',
      registers: [registry],
      collect() {
        this.set(sample());
      },
    });
  }

  observe(source: () => number): void {
    this.source = source;
  }
}
