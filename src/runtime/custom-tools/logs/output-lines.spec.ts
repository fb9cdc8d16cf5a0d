import fc from 'fast-check';
import { LineBudget } from '../../process-pool/line-budget.js';
import { OutputLines } from './pool-output.js';

class Seen {
  readonly lines: string[] = [];
  readonly cut: string[] = [];
  skippedBytes = 0;
  line(text: string, cut: boolean): void {
    (cut ? this.cut : this.lines).push(text);
  }
  skipped(bytes: number): void {
    this.skippedBytes += bytes;
  }
}

const splitter = (maxBytes = 64, perSecond = 1_000_000, now = () => 0) => {
  const seen = new Seen();
  return { seen, lines: new OutputLines(maxBytes, new LineBudget(perSecond, now), seen) };
};

describe('OutputLines', () => {
  it('cuts lines wherever the pieces end, within characters too', () => {
    const text = 'grüße\r\n\n漢字 \u{1f600}\nlast';
    fc.assert(
      fc.property(fc.array(fc.nat(text.length * 2), { maxLength: 8 }), (cuts) => {
        const bytes = Buffer.from(text);
        const { seen, lines } = splitter();
        let at = 0;
        for (const cut of [...cuts.map((c) => c % bytes.length), bytes.length].sort((a, b) => a - b)) {
          lines.push(bytes.subarray(at, cut));
          at = cut;
        }
        lines.end();
        expect(seen.lines).toEqual(['grüße', '漢字 \u{1f600}', 'last']);
      }),
    );
  });

  it.each([
    ['x'.repeat(100), 'x'.repeat(64)],
    [`${'x'.repeat(63)}ü${'y'.repeat(9)}`, 'x'.repeat(63)],
    [`${'x'.repeat(62)}ü${'y'.repeat(9)}`, `${'x'.repeat(62)}ü`],
    [`${'x'.repeat(61)}\u{1f600}`, 'x'.repeat(61)],
  ])('keeps as many whole characters of a long line as fit', (line, kept) => {
    const { seen, lines } = splitter();
    for (const byte of Buffer.from(`${line}\nnext\n`)) lines.push(Buffer.of(byte));
    expect(seen).toMatchObject({ cut: [kept], lines: ['next'], skippedBytes: 0 });
  });

  it('counts what is over the budget, and goes on at a line’s beginning when there is a new one', () => {
    let now = 0;
    const { seen, lines } = splitter(64, 2, () => now);
    lines.push(Buffer.from('a\nb\nc\nd\nhal'));
    expect(seen).toMatchObject({ lines: ['a', 'b'], skippedBytes: 0 });
    now = 1_000;
    lines.push(Buffer.from('f\nwhole\n'));
    expect(seen).toMatchObject({ lines: ['a', 'b', 'whole'], skippedBytes: 8 });
    lines.push(Buffer.from('over\n'));
    lines.end();
    expect(seen).toMatchObject({ lines: ['a', 'b', 'whole'], skippedBytes: 13 });
  });

  it.each([
    ['short lines', `${'x'.repeat(9)}\n`.repeat(6_554)],
    ['empty lines', '\n'.repeat(65_536)],
    ['one line', 'x'.repeat(65_536)],
  ])('takes 1 GiB of %s without memory and in well under the time that writing it takes', (_what, text) => {
    const { seen, lines } = splitter(4_096, 200, () => performance.now());
    const chunk = Buffer.from(text).subarray(0, 65_536);
    const before = process.memoryUsage();
    const cpuBefore = process.cpuUsage();
    let bytes = 0;
    for (; bytes < 2 ** 30; bytes += chunk.length) lines.push(chunk);
    lines.end();
    const cpu = process.cpuUsage(cpuBefore);
    const after = process.memoryUsage();
    // A chunk of 64 KiB costs a few microseconds; reading it from the pipe costs more.
    expect((cpu.user + cpu.system) / 1_000).toBeLessThan(1_500);
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(
      30_000_000,
    );
    const kept = seen.lines.concat(seen.cut).length;
    if (_what === 'one line') expect(seen.cut).toEqual(['x'.repeat(4_096)]);
    else expect(seen.skippedBytes + kept * 10).toBeGreaterThan(2 ** 30 - 10_000_000);
  });
});
