import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import type { DataSource } from 'typeorm';
import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken, InjectDataSource, TypeOrmModule } from '@nestjs/typeorm';
import { hourMs } from '../../base/common/clock.js';
import { journalReport, TableRetention } from '../journal/journalled-table.js';
import { LockHeld } from '../../base/common/lock.js';
import { StartError } from '../../base/common/start-error.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { FleetBarrier } from '../../base/database/fleet-barrier.js';
import { drainThread } from '../journal/drain-thread.js';
import { Journal, type JournalListener } from '../journal/journal.js';
import { sinkSettings } from '../journal/table-sink.js';
import type { ExecutionEnd, ExecutionStart } from './execution-record.js';
import { ExecutionRecorder, gradeRecorder } from './execution-recorder.js';
import { ResultBacklog } from './semantic/result-reader.js';
import { Contributors } from '../../base/observability/contributors.js';
import { CallEvents } from '../../web/contract/call-events.js';
import { MetricPartitions } from './rollups/metric-partitions.js';
import { ToolMetricsService } from './tool-metrics.service.js';
import { ToolMetricsController } from './tool-metrics.controller.js';
import { ToolMetricsRepository } from './tool-metrics.repository.js';

const executionReport = 'EXECUTION_REPORT';

const recorderMetrics = [
  ...journalReport(executionReport, {
    owner: ExecutionRecorder,
    gauges: {
      depth: ['toolkeeper_recorder_depth', 'Execution records that wait for the database'],
      oldest: ['toolkeeper_recorder_oldest_seconds', 'How long the oldest of them waits'],
      bytes: ['toolkeeper_journal_bytes', 'Size of the journal of executions'],
    },
    counters: {
      committed: ['toolkeeper_recorder_recorded_total', 'Execution records stored'],
      quarantined: ['toolkeeper_recorder_quarantined_total', 'Execution records that the database refused'],
      damaged: ['toolkeeper_journal_damaged_lines_total', 'Lines of the journal that could not be read'],
      write_failed: [
        'toolkeeper_journal_write_failures_total',
        'Writes and syncs of the journal that failed',
      ],
    },
    entries: {
      write_failed: ['journal_write_failed', 'the journal cannot be written'],
      drain_ended: ['journal_drain_ended', 'the drain of the journal ended and is started again'],
      left: ['journal_left', 'executions stay in the journal; the next start inserts them'],
      retrying: ['recorder_retry', 'records could not be written yet'],
      damaged: ['journal_damaged', 'lines of the journal cannot be read'],
      quarantined: [
        'execution_quarantined',
        'the database refuses the record of an execution: see tool_metrics_quarantine',
      ],
      replayed: ['journal_replayed', 'the last journal is in the database'],
    },
    idField: 'executionId',
  }),
  makeCounterProvider({
    name: 'toolkeeper_recorder_dropped_total',
    help: 'Executions that ran without a record: always 0, such calls are refused',
  }),
];

/** @throws StartError if another gateway has the journal */
async function openRecorder(
  db: DataSource,
  config: AppConfig,
  report: JournalListener,
  { executions }: Lifecycle,
): Promise<ExecutionRecorder> {
  const { recorder } = config;
  const backlog = new ResultBacklog();
  const sink = { ...sinkSettings(db, config), resultBacklog: backlog.memory };
  const drain = drainThread(new URL('./execution-drain.worker.js', import.meta.url), sink);
  try {
    const journal = await Journal.open<ExecutionStart, ExecutionEnd>({ ...recorder, drain }, report);
    return new ExecutionRecorder(journal, recorder, backlog, executions);
  } catch (cause) {
    if (!(cause instanceof LockHeld)) throw cause;
    throw new StartError(
      `The journal of executions in ${recorder.journalDir} belongs to another gateway, which runs: stop that one, or give each its own TOOLKEEPER_DATA_DIR or JOURNAL_DIR`,
      { cause },
    );
  }
}

/** Executions go to their day even if no new days are made for a week. */
const daysAhead = 7;
const strayRowsName = 'toolkeeper_metrics_default_partition_rows';

/**
 * Drops days whose last execution is older than METRICS_RETENTION_DAYS, deletes expired payloads and makes the days to
 * come. Days are dropped as a whole, because deleting rows is slow.
 */
@Injectable()
class MetricsRetention extends TableRetention {
  private readonly days: number;
  private readonly partitions: MetricPartitions;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    @InjectDataSource() db: DataSource,
    private readonly service: ToolMetricsService,
    @InjectMetric(strayRowsName) private readonly strayRows: Gauge,
  ) {
    super(hourMs, 'old metrics could not be deleted');
    this.days = config.recorder.retentionDays;
    this.partitions = new MetricPartitions(db);
  }

  async run(deletes: boolean): Promise<void> {
    if (!deletes) return;
    await this.makeDays().catch((error: unknown) =>
      this.logger.warn(error, 'the days to come could not be made'),
    );
    await this.service.deleteOldPayloads();
    const { deleted } = await this.service.cleanup({ olderThanDays: this.days });
    if (deleted === 0) return;
    this.logger.log({ event: 'metrics_cleaned', deleted, days: this.days }, 'old metrics deleted');
  }

  private async makeDays(): Promise<void> {
    await this.partitions.makeAhead(daysAhead);
    const rows = await this.partitions.countInDefault();
    this.strayRows.set(rows);
    if (rows === 0) return;
    const entry = { event: 'metrics_in_default_partition', rows };
    this.logger.warn(entry, 'metrics were recorded on days that have no partition');
  }
}

/** Records every execution and answers for it. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([])],
  controllers: [ToolMetricsController],
  providers: [
    ...recorderMetrics,
    makeGaugeProvider({
      name: strayRowsName,
      help: 'Executions on days without a partition of their own, counted every hour up to 10,000',
    }),
    ToolMetricsRepository,
    CallEvents,
    MetricsRetention,
    ToolMetricsService,
    {
      provide: ExecutionRecorder,
      inject: [getDataSourceToken(), APP_CONFIG, executionReport, Lifecycle],
      useFactory: openRecorder,
    },
  ],
  exports: [ToolMetricsRepository, ToolMetricsService, ExecutionRecorder, CallEvents],
})
export class ToolMetricsModule implements OnApplicationShutdown {
  constructor(
    private readonly recorder: ExecutionRecorder,
    contributors: Contributors,
    barrier: FleetBarrier,
  ) {
    barrier.addJournal(recorder);
    // Down while calls are refused because their records cannot be promised.
    contributors.addHealth('recorder', async () => {
      const state = await recorder.stateNow();
      const { depth, oldestMs, bytes, damagedLines } = state;
      return { depth, oldestMs, bytes, dropped: 0, damagedLines, ...gradeRecorder(state) };
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.recorder.close();
  }
}
