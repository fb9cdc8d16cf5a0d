import fc from 'fast-check';
import { periodParts } from './rollup.sql.js';

const at = (text: string): Date => new Date(`2026-01-${text}Z`);
const lengths = ({ cells }: ReturnType<typeof periodParts>): number[] => cells.map(({ seconds }) => seconds);

describe('periodParts', () => {
  it('takes the longest cells that fit, and executions at the ends', () => {
    const { cells, rows } = periodParts(at('01T22:48:30.500'), at('03T00:01:10.000'));
    expect(cells.map(({ seconds, from, to }) => [seconds, (to - from) / 1_000])).toEqual([
      [60, 660],
      [3_600, 3_600],
      [86_400, 86_400],
      [60, 60],
    ]);
    expect(rows.map(({ from, to }) => to - from)).toEqual([29_500, 10_001]);
  });

  it('reads a period of whole days from days alone, and one within a minute from executions alone', () => {
    expect(lengths(periodParts(at('01T00:00:00'), at('02T23:59:59.999')))).toEqual([86_400]);
    expect(periodParts(at('01T00:00:01'), at('01T00:00:01'))).toEqual({
      cells: [],
      rows: [{ from: at('01T00:00:01').getTime(), to: at('01T00:00:01.001').getTime() }],
    });
  });

  it('covers every moment exactly once, cells only from their start to their end', () => {
    const moment = fc.integer({ min: -3e11, max: 3e12 });
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 4e9 }), (since, length) => {
        const { cells, rows } = periodParts(new Date(since), new Date(since + length));
        const parts = [...cells, ...rows].sort((a, b) => a.from - b.from);
        let covered = since;
        for (const { from, to } of parts) {
          expect(from).toBe(covered);
          expect(to).toBeGreaterThan(from);
          covered = to;
        }
        expect(covered).toBe(since + length + 1);
        for (const { seconds, from, to } of cells) {
          expect([from % (seconds * 1_000) === 0, to % (seconds * 1_000) === 0]).toEqual([true, true]);
        }
        expect(rows.length).toBeLessThanOrEqual(2);
        for (const { from, to } of rows) expect(to - from).toBeLessThan(120_000);
      }),
      { numRuns: 2_000 },
    );
  });
});
