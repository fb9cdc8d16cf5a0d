import type { PartHealth } from '../observability/contributors.js';
import type { RecorderSettings, RecorderState } from './execution-recorder.js';

/** How long a record may wait for the database before somebody should look, in milliseconds. */
const longestWaitMs = 30_000;
/** Only a call shows whether the journal can be written again: how long a failure counts. */
const failureCountsMs = 30_000;

/** Whether calls can be recorded, and whether all of them were. */
export function gradeRecorder(
  {
    full,
    oldestMs,
    dropped,
    damagedLines,
    lastWriteFailureAt,
  }: Pick<RecorderState, 'full' | 'oldestMs' | 'dropped' | 'damagedLines' | 'lastWriteFailureAt'>,
  whenFull: RecorderSettings['whenFull'],
  now = Date.now(),
): PartHealth {
  if (full && whenFull === 'refuse') {
    return { status: 'down', message: 'the journal is at its cap: calls are refused (recorder_full)' };
  }
  const troubles = [
    full && 'the journal is at its cap: calls run without a record',
    now - lastWriteFailureAt < failureCountsMs && 'the journal cannot be written',
    oldestMs > longestWaitMs && `records wait for the database for ${Math.round(oldestMs / 1_000)} s`,
    dropped > 0 && `${dropped} calls ran without a record`,
    damagedLines > 0 && `${damagedLines} lines of the journal could not be read`,
  ].filter((trouble) => trouble !== false);
  return troubles.length > 0 ? { status: 'degraded', message: troubles.join('; ') } : { status: 'up' };
}
