import { healthOfRecorder } from './execution-recorder.js';

const fine = {
  full: false,
  takesMore: true,
  oldestMs: 30_000,
  damagedLines: 0,
  lastWriteFailureAt: 0,
};

describe('healthOfRecorder', () => {
  it('is up while everything is recorded in time', () => {
    expect(healthOfRecorder(fine, 30_000)).toEqual({ status: 'up' });
  });

  it.each([
    [{ full: true, takesMore: false }, 'the journal is at its cap: calls are refused (recorder_full)'],
    [{ takesMore: false }, 'the journal cannot be written (JOURNAL_DIR): calls are refused (recorder_full)'],
  ])('is down when calls are refused, whatever else there is: %j', (change, message) => {
    expect(healthOfRecorder({ ...fine, ...change, damagedLines: 1 }, 30_000)).toEqual({
      status: 'down',
      message,
    });
  });

  it.each([
    [{ oldestMs: 30_001 }, 'records wait for the database for 30 s'],
    [{ refusedBy: '53100' }, 'the database takes no records: its disk is full (SQLSTATE 53100)'],
    [{ refusedBy: 'XX000' }, 'the database takes no records: the log has the reason (SQLSTATE XX000)'],
    [{ lastWriteFailureAt: 1 }, 'the journal could not be written a moment ago'],
    [{ damagedLines: 3 }, '3 lines of the journal could not be read'],
    [
      { oldestMs: 30_001, damagedLines: 3 },
      'records wait for the database for 30 s; 3 lines of the journal could not be read',
    ],
  ] as const)('is degraded by %j', (change, message) => {
    expect(healthOfRecorder({ ...fine, ...change }, 30_000)).toEqual({ status: 'degraded', message });
  });
});
