import { gradeRecorder } from './recorder-health.js';

const fine = {
  full: false,
  takesMore: true,
  oldestMs: 30_000,
  dropped: 0,
  damagedLines: 0,
  lastWriteFailureAt: 0,
};

describe('gradeRecorder', () => {
  it('is up while everything is recorded in time', () => {
    expect(gradeRecorder(fine, 'refuse', 30_000)).toEqual({ status: 'up' });
  });

  it.each([
    [{ full: true, takesMore: false }, 'the journal is at its cap: calls are refused (recorder_full)'],
    [{ takesMore: false }, 'the journal cannot be written (JOURNAL_DIR): calls are refused (recorder_full)'],
  ])('is down when calls are refused, whatever else there is: %j', (change, message) => {
    expect(gradeRecorder({ ...fine, ...change, dropped: 1 }, 'refuse', 30_000)).toEqual({
      status: 'down',
      message,
    });
  });

  it.each([
    [{ full: true }, 'the journal is at its cap: calls run without a record'],
    [{ oldestMs: 30_001 }, 'records wait for the database for 30 s'],
    [{ takesMore: false }, 'the journal cannot be written (JOURNAL_DIR): calls run without a record'],
    [{ lastWriteFailureAt: 1 }, 'the journal could not be written a moment ago'],
    [{ dropped: 2 }, '2 calls ran without a record'],
    [{ damagedLines: 3 }, '3 lines of the journal could not be read'],
    [
      { dropped: 2, damagedLines: 3 },
      '2 calls ran without a record; 3 lines of the journal could not be read',
    ],
  ] as const)('is degraded by %j', (change, message) => {
    expect(gradeRecorder({ ...fine, ...change }, 'drop', 30_000)).toEqual({ status: 'degraded', message });
  });
});
