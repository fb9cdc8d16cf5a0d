import type { PartHealth } from '../observability/contributors.js';
import type { RecorderSettings, RecorderState } from './execution-recorder.js';

/** How long a record may wait for the database before somebody should look, in milliseconds. */
const longestWaitMs = 30_000;
/** How long a failure counts that may be over, or hits what is synced later alone. */
const failureCountsMs = 30_000;

/** Whether calls can be recorded, and whether all of them were. */
export function gradeRecorder(
  {
    full,
    takesMore,
    oldestMs,
    dropped,
    damagedLines,
    lastWriteFailureAt,
  }: Pick<
    RecorderState,
    'full' | 'takesMore' | 'oldestMs' | 'dropped' | 'damagedLines' | 'lastWriteFailureAt'
  >,
  whenFull: RecorderSettings['whenFull'],
  now = Date.now(),
): PartHealth {
  const unable =
    (full && 'the journal is at its cap') || (!takesMore && 'the journal cannot be written (JOURNAL_DIR)');
  if (unable && whenFull === 'refuse') {
    return { status: 'down', message: `${unable}: calls are refused (recorder_full)` };
  }
  const troubles = [
    unable && `${unable}: calls run without a record`,
    !unable && now - lastWriteFailureAt < failureCountsMs && 'the journal could not be written a moment ago',
    oldestMs > longestWaitMs && `records wait for the database for ${Math.round(oldestMs / 1_000)} s`,
    dropped > 0 && `${dropped} calls ran without a record`,
    damagedLines > 0 && `${damagedLines} lines of the journal could not be read`,
  ].filter((trouble) => trouble !== false);
  return troubles.length > 0 ? { status: 'degraded', message: troubles.join('; ') } : { status: 'up' };
}
