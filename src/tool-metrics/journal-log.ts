import { Injectable, Logger } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import type { JournalNews } from '../journal/journal.js';
import { ExecutionRecorder } from './execution-recorder.js';

const messages = {
  write_failed: ['error', 'journal_write_failed', 'the journal cannot be written'],
  drain_ended: ['error', 'journal_drain_ended', 'the drain of the journal ended and is started again'],
  left: ['warn', 'journal_left', 'executions stay in the journal; the next start inserts them'],
  retrying: ['warn', 'recorder_retry', 'records could not be written yet'],
  damaged: ['error', 'journal_damaged', 'lines of the journal cannot be read'],
  quarantined: [
    'error',
    'execution_quarantined',
    'the database refuses the record of an execution: see tool_metrics_quarantine',
  ],
  replayed: ['log', 'journal_replayed', 'the last journal is in the database'],
} as const;

/** Logs and counts what becomes of the journal of executions. */
@Injectable()
export class JournalLog {
  private readonly logger = new Logger(ExecutionRecorder.name);

  constructor(
    @InjectMetric('toolkeeper_recorder_recorded_total') private readonly recorded: Counter,
    @InjectMetric('toolkeeper_recorder_quarantined_total') private readonly quarantined: Counter,
    @InjectMetric('toolkeeper_journal_damaged_lines_total') private readonly damagedLines: Counter,
    @InjectMetric('toolkeeper_journal_write_failures_total') private readonly writeFailures: Counter,
  ) {}

  hear(news: JournalNews): void {
    if (news.event === 'committed') return this.recorded.inc(news.records);
    if (news.event === 'quarantined') this.quarantined.inc();
    if (news.event === 'damaged') this.damagedLines.inc(news.lines);
    if (news.event === 'write_failed') this.writeFailures.inc();
    if (news.event === 'replayed' && news.records === 0) return;
    const [level, event, message] = messages[news.event];
    const about = news.event === 'quarantined' ? { executionId: news.id, reason: news.reason } : news;
    this.logger[level]({ ...about, event }, message);
  }
}
