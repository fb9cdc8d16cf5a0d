import { makeCounterProvider } from '@willsoto/nestjs-prometheus';
import type { DataSource } from 'typeorm';
import type { AppConfig } from '../../../config/app-config.js';
import { journalReport, type JournalReport } from '../../journal/journal-report.js';
import { sinkSettings } from '../../journal/table-sink.js';
import type { BatchEvents } from './batch-events.js';
import { SpanIngest } from './span-ingest.js';

export const spanReport = 'SPAN_REPORT';

export const ingestMetrics = [
  ...journalReport(spanReport, {
    owner: SpanIngest,
    gauges: {
      depth: ['toolkeeper_spans_waiting', 'Acknowledged spans that wait for the database'],
      oldest: ['toolkeeper_spans_oldest_seconds', 'How long the oldest of them waits'],
      bytes: ['toolkeeper_spans_journal_bytes', 'Size of the journal of spans'],
    },
    counters: {
      committed: ['toolkeeper_spans_stored_total', 'Spans that came to the database'],
      quarantined: ['toolkeeper_spans_quarantined_total', 'Spans that the database refused'],
    },
    entries: {
      write_failed: ['spans_write_failed', 'the journal of spans cannot be written'],
      drain_ended: ['spans_drain_ended', 'a thread of the spans ended and is started again'],
      left: ['spans_left', 'spans stay in the journal; the next start inserts them'],
      retrying: ['spans_retrying', 'spans could not be written to the database yet'],
      damaged: ['spans_damaged', 'lines of the journal of spans cannot be read'],
      quarantined: ['spans_quarantined', 'the database refuses a span: see spans_quarantine'],
      replayed: ['spans_replayed', 'the last journal of spans is in the database'],
    },
    idField: 'id',
  }),
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
];

/** The ingest of a server, at work when the first batch comes. */
export function openIngest(
  db: DataSource,
  config: Pick<AppConfig, 'spans' | 'database' | 'recorder'>,
  report: JournalReport,
  batches: BatchEvents,
): SpanIngest {
  const { durability, maxBytes } = config.recorder;
  const { maxInflatedBytes, retentionDays, ...spans } = config.spans;
  return new SpanIngest(
    {
      journal: { ...spans, durability, maxBytes },
      sink: sinkSettings(db, config),
      intake: { maxJournalBytes: maxBytes, maxInflatedBytes, retentionDays },
    },
    report,
    (kept) => batches.emit(kept),
  );
}
