import type { PoolFailureReason } from '../../process-pool/pool.types.js';
import { isResultUnknown, mayRepeat, type RepetitionFacts, withResultUnknown } from './pool-calls.js';

/** Every reason there is, and whether another try may go better: a new reason must find its place here. */
const reasons: Record<PoolFailureReason, boolean> = {
  tool_crashed: true,
  spawn_failed: true,
  protocol_error: true,
  timeout: true,
  output_too_large: false,
  queue_full: false,
  cancelled: false,
  shutting_down: false,
};
const bools = [false, true];
const facts: RepetitionFacts = {
  attempt: 1,
  maxRetries: 1,
  retryDelayMs: 100,
  idempotent: true,
  remainingMs: 1_000,
  isCancelled: false,
};

describe('mayRepeat', () => {
  const table = Object.entries(reasons).flatMap(([reason, helps]) =>
    bools.flatMap((written) =>
      bools.map((idempotent) => ({ reason: reason as PoolFailureReason, helps, written, idempotent })),
    ),
  );

  it.each(table)('$reason, written $written, idempotent $idempotent', (row) => {
    const safe = !row.written || row.idempotent;
    expect(mayRepeat(row, { ...facts, idempotent: row.idempotent })).toBe(row.helps && safe);
  });

  it.each([
    ['no retries are configured', { maxRetries: 0 }],
    ['all retries are used up', { attempt: 3, maxRetries: 2 }],
    ['no time is left', { remainingMs: 0 }],
    ['the pause would take what time is left', { remainingMs: 100 }],
    ['the caller has left', { isCancelled: true }],
  ])('never when %s', (_why, change) => {
    for (const written of bools)
      expect(mayRepeat({ reason: 'tool_crashed', written }, { ...facts, ...change })).toBe(false);
  });

  it('as often as maxRetries says', () => {
    const tries = [1, 2, 3, 4].map((attempt) =>
      mayRepeat({ reason: 'tool_crashed', written: true }, { ...facts, attempt, maxRetries: 2 }),
    );
    expect(tries).toEqual([true, true, false, false]);
  });
});

describe('the result is unknown', () => {
  it.each([
    [true, true, false],
    [true, false, true],
    [false, true, false],
    [false, false, false],
  ])('written %s, read-only %s: %s', (written, readOnly, unknown) => {
    expect(isResultUnknown(written, { readOnly })).toBe(unknown);
  });

  it('and whoever calls again is told whether that is safe', () => {
    expect(withResultUnknown('It ended', { idempotent: false })).toBe(
      'It ended. The result is unknown: the tool may have done its work',
    );
    expect(withResultUnknown('It ended', { idempotent: true })).toBe(
      'It ended. The result is unknown: the tool may have done its work; calling it again is safe',
    );
  });
});
