import type { Counter } from 'prom-client';
import type { DataSource } from 'typeorm';
import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { getToken } from '@willsoto/nestjs-prometheus';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { journalReport } from '../journal/journal-report.js';
import { LockHeld } from '../../base/common/lock.js';
import { StartError } from '../../base/common/start-error.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { FleetBarrier } from '../../base/database/fleet-barrier.js';
import { drainThread } from '../journal/drain-thread.js';
import { Journal, type JournalListener } from '../journal/journal.js';
import { sinkSettings } from '../journal/table-sink.js';
import type { ExecutionEnd, ExecutionStart } from './execution-record.js';
import { ExecutionRecorder, healthOfRecorder } from './execution-recorder.js';
import { ResultBacklog } from './semantic/result-reader.js';
import { Contributors } from '../../base/observability/contributors.js';
import { counter } from '../../base/observability/metrics.js';
import { CallEvents } from '../../web/contract/call-events.js';
import { MetricsRetention, strayRows } from './metrics-retention.js';
import { RefusedCallers } from './rollups/refused-callers.js';
import { ToolMetricsService } from './tool-metrics.service.js';
import { ToolMetricsController } from './tool-metrics.controller.js';
import { findingsName, ToolMetricsRepository } from './tool-metrics.repository.js';

/** Token of the listener that counts and logs the news of the executions' journal. */
const executionReport = 'EXECUTION_REPORT';

const recorderMetrics = [
  ...journalReport(executionReport, {
    owner: ExecutionRecorder,
    gauges: {
      depth: ['toolkeeper_recorder_depth', 'Execution records that wait for the database'],
      oldest: [
        'toolkeeper_recorder_oldest_seconds',
        'Age of the oldest execution record that waits for the database',
      ],
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
  counter(findingsName, 'Executions whose answer reports an error, or that were marked as wrong', 'tool'),
  counter(
    'toolkeeper_recorder_dropped_total',
    'Executions that ran without a record: always 0, such calls are refused',
  ),
];

/** Opens the journal and its recorder. @throws StartError if another process has the journal */
async function openRecorder(
  db: DataSource,
  config: AppConfig,
  report: JournalListener,
  findings: Counter,
  { executions }: Lifecycle,
): Promise<ExecutionRecorder> {
  const { recorder } = config;
  const backlog = new ResultBacklog();
  const sink = { ...sinkSettings(db, config), resultBacklog: backlog.memory };
  const drain = drainThread(new URL('./execution-drain.worker.js', import.meta.url), sink, (tool) =>
    findings.inc({ tool }),
  );
  try {
    const journal = await Journal.open<ExecutionStart, ExecutionEnd>({ ...recorder, drain }, report);
    return new ExecutionRecorder(journal, recorder, backlog, executions);
  } catch (cause) {
    if (!(cause instanceof LockHeld)) throw cause;
    throw new StartError(
      `The journal of executions in ${recorder.journalDir} belongs to another running gateway: stop that one, or give each its own TOOLKEEPER_DATA_DIR or JOURNAL_DIR`,
      { cause },
    );
  }
}

/** Records executions and serves their figures. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([])],
  controllers: [ToolMetricsController],
  providers: [
    ...recorderMetrics,
    strayRows,
    RefusedCallers,
    ToolMetricsRepository,
    CallEvents,
    MetricsRetention,
    ToolMetricsService,
    {
      provide: ExecutionRecorder,
      inject: [getDataSourceToken(), APP_CONFIG, executionReport, getToken(findingsName), Lifecycle],
      useFactory: openRecorder,
    },
  ],
  exports: [
    getToken(findingsName),
    ToolMetricsRepository,
    ToolMetricsService,
    ExecutionRecorder,
    CallEvents,
    RefusedCallers,
  ],
})
export class ToolMetricsModule implements OnApplicationShutdown {
  constructor(
    private readonly recorder: ExecutionRecorder,
    contributors: Contributors,
    barrier: FleetBarrier,
  ) {
    barrier.addJournal(recorder);
    contributors.addHealth('recorder', async () => {
      const state = await recorder.stateNow();
      const { depth, oldestMs, bytes, damagedLines } = state;
      return { depth, oldestMs, bytes, dropped: 0, damagedLines, ...healthOfRecorder(state) };
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.recorder.close();
  }
}
