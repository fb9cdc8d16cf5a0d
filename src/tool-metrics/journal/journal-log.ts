import type { Logger } from '@nestjs/common';
import type { RecorderMetrics } from '../../observability/recorder-metrics.js';
import type { JournalReport } from './open-journal.js';

/** Says what becomes of the journal: messages only, since a failed statement's error drags all its rows along. */
export function journalLog(logger: Logger, metrics: RecorderMetrics): JournalReport {
  return {
    writeFailed: (error) =>
      logger.error(
        { event: 'journal_write_failed', error: messageOf(error) },
        'the journal cannot be written',
      ),
    drainEnded: (error, restartInMs) =>
      logger.error(
        { event: 'journal_drain_ended', restartInMs, error: messageOf(error) },
        'the drain of the journal ended and is started again',
      ),
    left: (reason) =>
      logger.warn(
        { event: 'journal_left', error: messageOf(reason) },
        'executions stay in the journal; the next start inserts them',
      ),
    news: (news) => {
      if ('retrying' in news) {
        logger.warn({ event: 'recorder_retry', ...news.retrying }, 'records could not be written yet');
      } else if ('damaged' in news) {
        metrics.damaged(news.damaged.lines);
        logger.error({ event: 'journal_damaged', ...news.damaged }, 'lines of the journal cannot be read');
      } else if ('quarantined' in news) {
        metrics.quarantined();
        logger.error(
          { event: 'execution_quarantined', ...news.quarantined },
          'the database refuses the record of an execution: see tool_metrics_quarantine',
        );
      } else if (news.replayed.rows > 0) {
        logger.log({ event: 'journal_replayed', ...news.replayed }, 'the last journal is in the database');
      }
    },
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
