import type { DataSource } from 'typeorm';
import { LockHeld } from '../common/lock.js';
import type { AppConfig } from '../config/app-config.js';
import { drainThread } from '../journal/drain-thread.js';
import { Journal } from '../journal/journal.js';
import type { ExecutionEnd, ExecutionStart } from './execution-record.js';
import { ExecutionRecorder } from './execution-recorder.js';
import type { ExecutionSinkSettings } from './execution-sink.js';
import { ResultBacklog } from './semantic/result-backlog.js';
import type { JournalLog } from './journal-log.js';

const maxSegmentBytes = 16_777_216;

/** @throws Error when another gateway has the journal */
export async function openRecorder(
  { options }: DataSource,
  { recorder, database }: AppConfig,
  log: JournalLog,
): Promise<ExecutionRecorder> {
  if (options.type !== 'postgres' || !options.url) throw new Error('The journal needs a PostgreSQL URL');
  const backlog = new ResultBacklog();
  const sink: ExecutionSinkSettings = {
    url: options.url,
    connectTimeoutMs: database.connectTimeoutMs,
    queryTimeoutMs: database.queryTimeoutMs,
    resultBacklog: backlog.memory,
  };
  const settings = {
    folder: recorder.journalDir,
    segmentBytes: Math.max(1, Math.min(maxSegmentBytes, Math.floor(recorder.maxBytes / 8))),
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
