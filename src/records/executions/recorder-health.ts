import type { PartHealth } from '../../observability/contributors.js';
import type { RecorderState } from './execution-recorder.js';

/** How long a record may wait for the database before somebody should look, in milliseconds. */
const longestWaitMs = 30_000;
/** How long a failure counts that may be over, or hits what is synced later alone. */
const failureCountsMs = 30_000;

/** Grades the recorder: down while it takes no calls, degraded if records wait or were damaged. */
export function gradeRecorder(
  {
    full,
    takesMore,
    oldestMs,
    damagedLines,
    lastWriteFailureAt,
  }: Pick<RecorderState, 'full' | 'takesMore' | 'oldestMs' | 'damagedLines' | 'lastWriteFailureAt'>,
  now = Date.now(),
): PartHealth {
  const unable =
    (full && 'the journal is at its cap') || (!takesMore && 'the journal cannot be written (JOURNAL_DIR)');
  if (unable) return { status: 'down', message: `${unable}: calls are refused (recorder_full)` };
  const troubles = [
    now - lastWriteFailureAt < failureCountsMs && 'the journal could not be written a moment ago',
    oldestMs > longestWaitMs && `records wait for the database for ${Math.round(oldestMs / 1_000)} s`,
    damagedLines > 0 && `${damagedLines} lines of the journal could not be read`,
  ].filter((trouble) => trouble !== false);
  return troubles.length > 0 ? { status: 'degraded', message: troubles.join('; ') } : { status: 'up' };
}
