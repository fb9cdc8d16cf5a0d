import type { DataSource } from 'typeorm';
import type { AppConfig } from '../../config/app-config.js';
import { segmentBytesFor } from '../../journal/journal.js';
import { sinkSettings } from '../../journal/sink-connection.js';
import type { BatchEvents } from './batch-events.js';
import { SpanIngest } from './span-ingest.js';
import type { SpanJournalLog } from './span-journal-log.js';

/** The ingest of a server, at work when the first batch comes. */
export function openIngest(
  db: DataSource,
  config: Pick<AppConfig, 'spans' | 'database' | 'recorder'>,
  log: SpanJournalLog,
  batches: BatchEvents,
): SpanIngest {
  const { spans, recorder } = config;
  return new SpanIngest(
    {
      journal: {
        folder: spans.journalDir,
        segmentBytes: segmentBytesFor(recorder.maxBytes),
        durability: recorder.durability,
        batchSize: spans.batchSize,
        intervalMs: spans.flushIntervalMs,
      },
      sink: sinkSettings(db, config),
      intake: {
        maxJournalBytes: recorder.maxBytes,
        maxInflatedBytes: spans.maxInflatedBytes,
        retentionDays: spans.retentionDays,
      },
    },
    (news) => log.hear(news),
    (kept) => batches.emit(kept),
  );
}
