import type { DataSource } from 'typeorm';
import { LockHeld } from '../common/lock.js';
import type { AppConfig } from '../config/app-config.js';
import { drainThread } from '../journal/drain-thread.js';
import { Journal, segmentBytesFor } from '../journal/journal.js';
import { sinkSettings } from '../journal/sink-connection.js';
import type { ExecutionEnd, ExecutionStart } from './execution-record.js';
import { ExecutionRecorder } from './execution-recorder.js';
import type { ExecutionSinkSettings } from './execution-sink.js';
import { ResultBacklog } from './semantic/result-backlog.js';
import type { JournalLog } from './journal-log.js';

/** @throws Error when another gateway has the journal */
export async function openRecorder(
  db: DataSource,
  config: AppConfig,
  log: JournalLog,
): Promise<ExecutionRecorder> {
  const { recorder } = config;
  const backlog = new ResultBacklog();
  const sink: ExecutionSinkSettings = {
    ...sinkSettings(db, config),
    resultBacklog: backlog.memory,
  };
  const settings = {
    folder: recorder.journalDir,
    segmentBytes: segmentBytesFor(recorder.maxBytes),
    durability: recorder.durability,
    batchSize: recorder.batchSize,
    intervalMs: recorder.flushIntervalMs,
    drain: drainThread(new URL('./execution-drain.worker.js', import.meta.url), sink),
  };
  const journal = await Journal.open<ExecutionStart, ExecutionEnd>(settings, (news) => log.hear(news)).catch(
    (error: unknown) => {
      if (!(error instanceof LockHeld)) throw error;
      throw new Error('The journal of executions belongs to another gateway: give each its own JOURNAL_DIR', {
        cause: error,
      });
    },
  );
  return new ExecutionRecorder(journal, recorder, backlog);
}
