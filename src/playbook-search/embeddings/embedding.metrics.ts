import { Injectable } from '@nestjs/common';
import {
  InjectMetric,
  makeCounterProvider,
  makeGaugeProvider,
  makeHistogramProvider,
} from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge, Histogram } from 'prom-client';
import { Contributors } from '../../observability/contributors.js';

const durations = 'toolkeeper_embedding_duration_seconds';
const withoutVectors = 'toolkeeper_playbook_searches_degraded_total';
const vectors = 'toolkeeper_playbook_vectors';
const up = 'toolkeeper_playbook_embeddings_up';

interface EmbeddingGauges {
  readonly vectors: number;
  readonly degraded: string | undefined;
}

/** How playbooks' vectors are doing. */
@Injectable()
export class EmbeddingMetrics {
  constructor(
    @InjectMetric(durations) private readonly durations: Histogram,
    @InjectMetric(withoutVectors) private readonly withoutVectors: Counter,
    @InjectMetric(vectors) private readonly vectors: Gauge,
    @InjectMetric(up) private readonly up: Gauge,
    private readonly contributors: Contributors,
  ) {}

  /** @param ms milliseconds */
  embedded(ms: number): void {
    this.durations.observe(ms / 1_000);
  }

  degraded(reason: string): void {
    this.withoutVectors.inc({ reason });
  }

  observe(gauges: () => EmbeddingGauges): void {
    this.contributors.addSampler(() => {
      const now = gauges();
      this.vectors.set(now.vectors);
      this.up.set(now.degraded === undefined ? 1 : 0);
    });
  }
}

export const embeddingMetrics = [
  EmbeddingMetrics,
  makeHistogramProvider({
    name: durations,
    help: 'What the vector of a query took',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  }),
  makeCounterProvider({
    name: withoutVectors,
    help: 'Searches for playbooks that had to go by words alone, by reason',
    labelNames: ['reason'],
  }),
  makeGaugeProvider({ name: vectors, help: 'Playbooks with a vector' }),
  makeGaugeProvider({
    name: up,
    help: 'Whether vectors are in step with the catalogue (1) or behind it (0)',
  }),
];
