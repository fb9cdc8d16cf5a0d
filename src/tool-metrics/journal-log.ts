import { Injectable, Logger } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import { messageOf } from '../common/message-of.js';
import type { JournalReport } from '../journal/journal.js';
import { ExecutionRecorder } from './execution-recorder.js';

/** Logs and counts what becomes of the journal: messages only, since a failed statement's error drags all its rows along. */
@Injectable()
export class JournalLog implements JournalReport {
  private readonly logger = new Logger(ExecutionRecorder.name);

  constructor(
    @InjectMetric('toolkeeper_recorder_recorded_total') private readonly recorded: Counter,
    @InjectMetric('toolkeeper_recorder_quarantined_total') private readonly quarantined: Counter,
    @InjectMetric('toolkeeper_journal_damaged_lines_total') private readonly damagedLines: Counter,
    @InjectMetric('toolkeeper_journal_write_failures_total') private readonly writeFailures: Counter,
  ) {}

  committed(records: number): void {
    this.recorded.inc(records);
  }

  writeFailed(error: unknown): void {
    this.writeFailures.inc();
    this.logger.error(
      { event: 'journal_write_failed', error: messageOf(error) },
      'the journal cannot be written',
    );
  }

  drainEnded(error: unknown, restartInMs: number): void {
    this.logger.error(
      { event: 'journal_drain_ended', restartInMs, error: messageOf(error) },
      'the drain of the journal ended and is started again',
    );
  }

  left(reason: unknown): void {
    this.logger.warn(
      { event: 'journal_left', error: messageOf(reason) },
      'executions stay in the journal; the next start inserts them',
    );
  }

  news(news: Parameters<JournalReport['news']>[0]): void {
    if ('retrying' in news) {
      this.logger.warn({ event: 'recorder_retry', ...news.retrying }, 'records could not be written yet');
    } else if ('damaged' in news) {
      this.damagedLines.inc(news.damaged.lines);
      this.logger.error({ event: 'journal_damaged', ...news.damaged }, 'lines of the journal cannot be read');
    } else if ('quarantined' in news) {
      const { id: executionId, reason } = news.quarantined;
      this.quarantined.inc();
      this.logger.error(
        { event: 'execution_quarantined', executionId, reason },
        'the database refuses the record of an execution: see tool_metrics_quarantine',
      );
    } else if (news.replayed.records > 0) {
      const { records: rows, interrupted } = news.replayed;
      this.logger.log(
        { event: 'journal_replayed', rows, interrupted },
        'the last journal is in the database',
      );
    }
  }
}
