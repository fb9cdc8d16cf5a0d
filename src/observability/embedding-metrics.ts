import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface EmbeddingGauges {
  readonly vectors: number;
  readonly bytes: number;
  readonly degraded: string | undefined;
}

/** How playbooks' vectors are doing. */
@Injectable()
export class EmbeddingMetrics {
  private readonly duration: Histogram;
  private readonly withoutVectors: Counter<'reason'>;
  private gauges: (() => EmbeddingGauges) | undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    this.duration = new Histogram({
      name: 'toolkeeper_embedding_duration_seconds',
      help: 'What the vector of a query took, the wait for the model included',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers,
    });
    this.withoutVectors = new Counter({
      name: 'toolkeeper_playbook_searches_degraded_total',
      help: 'Searches for playbooks that had to go by words alone, by reason',
      labelNames: ['reason'],
      registers,
    });
    this.gauge(registry, 'toolkeeper_playbook_vectors', 'Playbooks with a vector', ({ vectors }) => vectors);
    this.gauge(
      registry,
      'toolkeeper_playbook_vector_bytes',
      'Memory of this process that vectors of playbooks take; 0 where the database holds them',
      ({ bytes }) => bytes,
    );
    this.gauge(
      registry,
      'toolkeeper_playbook_embeddings_up',
      'Whether vectors are in step with the catalogue (1) or behind it (0)',
      ({ degraded }) => (degraded === undefined ? 1 : 0),
    );
  }

  /** @param ms milliseconds */
  embedded(ms: number): void {
    this.duration.observe(ms / 1_000);
  }

  degraded(reason: string): void {
    this.withoutVectors.inc({ reason });
  }

  observe(gauges: () => EmbeddingGauges): void {
    this.gauges = gauges;
  }

  private gauge(
    registry: Registry,
    name: string,
    help: string,
    valueOf: (gauges: EmbeddingGauges) => number,
  ): void {
    const read = (): EmbeddingGauges | undefined => this.gauges?.();
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const gauges = read();
        if (gauges) this.set(valueOf(gauges));
      },
    });
  }
}
