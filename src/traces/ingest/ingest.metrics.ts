import { Injectable } from '@nestjs/common';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { Contributors } from '../../observability/contributors.js';
import { SpanIngest } from './span-ingest.js';

export const ingestMetrics = [
  makeCounterProvider({ name: 'toolkeeper_spans_taken_total', help: 'Spans that were acknowledged' }),
  makeCounterProvider({
    name: 'toolkeeper_spans_rejected_total',
    help: 'Spans of taken batches that were not',
  }),
  makeCounterProvider({
    name: 'toolkeeper_span_batches_refused_total',
    help: 'Batches of spans that were refused as a whole, by code',
    labelNames: ['code'],
  }),
  makeCounterProvider({ name: 'toolkeeper_spans_stored_total', help: 'Spans that came to the database' }),
  makeCounterProvider({
    name: 'toolkeeper_spans_quarantined_total',
    help: 'Spans that the database refused',
  }),
  makeGaugeProvider({
    name: 'toolkeeper_spans_waiting',
    help: 'Acknowledged spans that wait for the database',
  }),
  makeGaugeProvider({ name: 'toolkeeper_spans_oldest_seconds', help: 'How long the oldest of them waits' }),
  makeGaugeProvider({ name: 'toolkeeper_spans_journal_bytes', help: 'Size of the journal of spans' }),
];

/** Shows how the journal of spans keeps up at each scrape. */
@Injectable()
export class IngestSampler {
  constructor(
    contributors: Contributors,
    ingest: SpanIngest,
    @InjectMetric('toolkeeper_spans_waiting') waiting: Gauge,
    @InjectMetric('toolkeeper_spans_oldest_seconds') oldest: Gauge,
    @InjectMetric('toolkeeper_spans_journal_bytes') bytes: Gauge,
  ) {
    contributors.addSampler(() => {
      const { state } = ingest;
      waiting.set(state.depth);
      oldest.set(state.oldestMs / 1_000);
      bytes.set(state.bytes);
    });
  }
}
