import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { AuthModule } from '../../web/auth/auth.module.js';
import { StartupWork } from '../../base/common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { FleetBarrier } from '../../base/database/fleet-barrier.js';
import { counter } from '../../base/observability/metrics.js';
import { ToolMetricsModule } from '../executions/tool-metrics.module.js';
import type { JournalListener } from '../journal/journal.js';
import { journalReport } from '../journal/journal-report.js';
import { sinkSettings } from '../journal/table-sink.js';
import { BatchRates, IngestController } from './ingest/ingest.controller.js';
import { SpanIngest, SpanNews } from './ingest/span-ingest.js';
import { TraceReads } from './reads/trace-reads.js';
import { TracesController } from './reads/traces.controller.js';
import { ProjectsController } from './reads/projects.controller.js';
import { SpanRetention } from './span-retention.js';

/** Token of the listener that counts and logs the news of the spans' journal. */
const spanReport = 'SPAN_REPORT';

const ingestMetrics = [
  ...journalReport(spanReport, {
    owner: SpanIngest,
    gauges: {
      depth: ['toolkeeper_spans_waiting', 'Acknowledged spans that wait for the database'],
      oldest: ['toolkeeper_spans_oldest_seconds', 'Age of the oldest span that waits for the database'],
      bytes: ['toolkeeper_spans_journal_bytes', 'Size of the journal of spans'],
    },
    counters: {
      committed: ['toolkeeper_spans_stored_total', 'Spans that were stored in the database'],
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
  counter('toolkeeper_spans_taken_total', 'Spans that were acknowledged'),
  counter('toolkeeper_spans_rejected_total', 'Spans of taken batches that were rejected'),
  counter(
    'toolkeeper_span_batches_refused_total',
    'Batches of spans that were refused as a whole, by code',
    'code',
  ),
];

/** Makes the ingest. Its threads are started later, when there are spans. */
function newIngest(
  db: DataSource,
  config: Pick<AppConfig, 'spans' | 'database' | 'recorder'>,
  report: JournalListener,
): SpanIngest {
  const { durability, maxBytes } = config.recorder;
  const { maxInflatedBytes, retentionDays, ...spans } = config.spans;
  const journal = { ...spans, durability, maxBytes };
  const intake = { maxJournalBytes: maxBytes, maxInflatedBytes, retentionDays };
  return new SpanIngest({ journal, sink: sinkSettings(db, config), intake }, report);
}

/** Spans that agents send: ingest, retention and reads, in which executions of this server are spans, too. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([]), AuthModule, ToolMetricsModule],
  controllers: [IngestController, ProjectsController, TracesController],
  providers: [
    ...ingestMetrics,
    BatchRates,
    SpanNews,
    SpanRetention,
    TraceReads,
    { provide: SpanIngest, inject: [getDataSourceToken(), APP_CONFIG, spanReport], useFactory: newIngest },
  ],
  exports: [SpanIngest, TraceReads],
})
export class TracesModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly ingest: SpanIngest,
    private readonly startup: StartupWork,
    barrier: FleetBarrier,
  ) {
    barrier.addJournal(ingest);
  }

  /** Opens a journal that an earlier gateway left. The start does not wait until its spans are in the database. */
  onApplicationBootstrap(): void {
    this.startup.register('spans', this.ingest.open());
  }

  async onApplicationShutdown(): Promise<void> {
    await this.ingest.close();
  }
}
