import type { DataSource } from 'typeorm';
import type { AppConfig } from '../../config/app-config.js';
import type { BatchEvents } from './batch-events.js';
import { SpanIngest } from './span-ingest.js';
import type { SpanJournalLog } from './span-journal-log.js';

const maxSegmentBytes = 16_777_216;

/** The ingest of a server, at work when the first batch comes. */
export function openIngest(
  { options }: DataSource,
  { spans, database, recorder }: Pick<AppConfig, 'spans' | 'database' | 'recorder'>,
  log: SpanJournalLog,
  batches: BatchEvents,
): SpanIngest {
  if (options.type !== 'postgres' || !options.url) throw new Error('The journal needs a PostgreSQL URL');
  return new SpanIngest(
    {
      journal: {
        folder: spans.journalDir,
        segmentBytes: Math.max(1, Math.min(maxSegmentBytes, Math.floor(spans.journalMaxBytes / 8))),
        durability: recorder.durability,
        batchSize: spans.batchSize,
        intervalMs: spans.flushIntervalMs,
      },
      sink: {
        url: options.url,
        connectTimeoutMs: database.connectTimeoutMs,
        queryTimeoutMs: database.queryTimeoutMs,
      },
      intake: {
        maxJournalBytes: spans.journalMaxBytes,
        maxInflatedBytes: spans.maxInflatedBytes,
        retentionDays: spans.retentionDays,
      },
    },
    (news) => log.hear(news),
    (kept) => batches.emit(kept),
  );
}
