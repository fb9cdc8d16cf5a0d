import fc from 'fast-check';
import { LineBudget, LineFramer } from './line-framer.js';

const cap = 64;

/** Feeds chunks and records what comes out. */
function frame(chunks: readonly Buffer[], maxBytes = cap) {
  const seen: { lines: string[]; bytes: number[]; overflows: number } = {
    lines: [],
    bytes: [],
    overflows: 0,
  };
  const framer = new LineFramer(maxBytes, {
    line: (text, bytes) => {
      seen.bytes.push(bytes);
      return seen.lines.push(text) > 0;
    },
    overflow: () => seen.overflows++,
  });
  for (const chunk of chunks) framer.push(chunk);
  framer.end();
  return seen;
}

/** Cuts bytes into chunks whose lengths are `lengths`, again and again. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

const line = fc.string({ unit: 'binary', maxLength: 15 }).map((text) => text.replaceAll('\n', ' '));
const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 });

describe('LineFramer', () => {
  it('gives the same lines however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), lengths, (lines, sizes) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
        const { lines: out, overflows } = frame(cut(bytes, sizes));
        expect(out).toEqual(lines.map((text) => Buffer.from(text).toString('utf8')));
        expect(overflows).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  it('gives the same lines and the same verdict for any bytes, over the cap or not', () => {
    const bytes = fc
      .uint8Array({ maxLength: 400 })
      .map((values) => Buffer.from(values.map((v) => (v % 9 === 0 ? 10 : v))));
    fc.assert(
      fc.property(bytes, lengths, (stream, sizes) => {
        expect(frame(cut(stream, sizes), 20)).toEqual(frame([stream], 20));
      }),
      { numRuns: 500 },
    );
  });

  it('gives long lines whole, however they are cut', () => {
    const cuts = fc.array(fc.integer({ min: 1_000, max: 300_000 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(fc.nat(1_200_000), { minLength: 1, maxLength: 3 }), cuts, (bytes, sizes) => {
        // No two places of a line look the same, so that what is lost or swapped shows.
        const lines = bytes.map((count, n) =>
          Array.from({ length: Math.ceil(count / 8) }, (_, at) => String(at * 7 + n).padStart(8, '.')).join(
            '',
          ),
        );
        const stream = Buffer.from(lines.map((text) => `${text}\n`).join(''));
        expect(frame(cut(stream, sizes), 4_194_304).lines).toEqual(lines);
      }),
      { numRuns: 40 },
    );
  });

  it('lets a line of exactly the cap pass and stops at one byte more, said once', () => {
    const full = 'x'.repeat(cap);
    expect(frame([Buffer.from(`${full}\n`)])).toMatchObject({ lines: [full], bytes: [cap], overflows: 0 });
    expect(frame([Buffer.from(`${full}y\nnext\n`)])).toMatchObject({ lines: [], overflows: 1 });
    expect(frame([Buffer.from(full), Buffer.from('y'), Buffer.from('\nnext\n')])).toMatchObject({
      lines: [],
      overflows: 1,
    });
  });

  it('does not wait for the end of a line that is already too long', () => {
    expect(frame([Buffer.alloc(cap + 1, 'x')]).overflows).toBe(1);
  });

  it('counts bytes, not characters', () => {
    expect(frame([Buffer.from('ü'.repeat(cap / 2) + '\n')])).toMatchObject({ bytes: [cap], overflows: 0 });
    expect(frame([Buffer.from('ü'.repeat(cap / 2) + 'x\n')]).overflows).toBe(1);
  });

  it('takes what follows the last newline as a line when the stream ends', () => {
    expect(frame([Buffer.from('one\ntw'), Buffer.from('o')]).lines).toEqual(['one', 'two']);
  });

  it('keeps a character whole that is cut between two chunks, and survives invalid UTF-8', () => {
    const euro = Buffer.from('€\n');
    expect(frame([euro.subarray(0, 1), euro.subarray(1)]).lines).toEqual(['€']);
    expect(frame([Buffer.from([0xff, 0xfe, 10])]).lines).toEqual(['\uFFFD\uFFFD']);
  });

  it('takes no more of a chunk than lines are wanted, and goes on where it stopped', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), lengths, (lines, sizes) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join('') + 'rest');
        const out: string[] = [];
        const framer = new LineFramer(cap, { line: (text) => out.push(text) < 0, overflow: () => undefined });
        for (const chunk of cut(bytes, sizes)) {
          for (let left = chunk; left.length > 0;) {
            const before = out.length;
            const taken = framer.push(left);
            expect(out.length - before).toBeLessThanOrEqual(1);
            // What was taken may be written over.
            left.subarray(0, taken).fill('#');
            left = left.subarray(taken);
          }
        }
        framer.end();
        expect(out).toEqual([...lines.map((text) => Buffer.from(text).toString('utf8')), 'rest']);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps a line that comes byte by byte in little more than its bytes', () => {
    const bytes = 1_000_000;
    const framer = new LineFramer(bytes, { line: () => true, overflow: () => undefined });
    const kept = (): number => {
      global.gc?.();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const byte = Buffer.from('x');
    framer.push(byte);
    const before = kept();
    for (let n = 1; n < bytes; n++) framer.push(byte);
    expect(kept() - before).toBeLessThan(30 * bytes);
    framer.end();
  });

  it('says nothing after it was closed, also by the receiver of a line', () => {
    const lines: string[] = [];
    const framer = new LineFramer(cap, {
      line: (text) => {
        framer.close();
        return lines.push(text) > 0;
      },
      overflow: () => lines.push('overflow'),
    });
    framer.push(Buffer.from('one\ntwo\nthree'));
    framer.push(Buffer.from('four\n'));
    framer.end();
    expect(lines).toEqual(['one']);
  });
});

/** Cuts and counts, as the log of a tool needs it. */
class Seen {
  readonly lines: string[] = [];
  readonly cut: string[] = [];
  skippedBytes = 0;
  line(text: string, _bytes: number, cut: boolean): boolean {
    return (cut ? this.cut : this.lines).push(text) > 0;
  }
  skipped(bytes: number): void {
    this.skippedBytes += bytes;
  }
}

const splitter = (maxBytes = 64, perSecond = 1_000_000, now = () => 0) => {
  const seen = new Seen();
  return { seen, lines: new LineFramer(maxBytes, seen, new LineBudget(perSecond, now)) };
};

describe('LineFramer with a budget, for a log', () => {
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
        expect(seen.lines).toEqual(['grüße\r', '', '漢字 \u{1f600}', 'last']);
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

describe('LineBudget', () => {
  it('gives so many at once, then so many a second, in stretches of half a second', () => {
    let now = 0;
    const budget = new LineBudget(100, () => now);
    const taken = (): number => {
      let n = 0;
      while (budget.take()) n++;
      return n;
    };
    expect(taken()).toBe(100);
    now = 400;
    expect(taken()).toBe(0);
    now = 500;
    expect(taken()).toBe(50);
    now = 60_000;
    expect(taken()).toBe(100);
  });

  it('may be overdrawn by what stands there already, and says for how long', () => {
    let now = 0;
    const budget = new LineBudget(100, () => now);
    expect(budget.charge(100)).toBe(0);
    expect(budget.charge(50)).toBe(500);
    expect(budget.charge(100)).toBe(1_500);
    now = 1_000;
    expect(budget.charge(0)).toBe(500);
    now = 1_500;
    expect(budget.charge(0)).toBe(0);
    // A refund fills the budget no further than an hour would.
    expect(budget.charge(-1_000)).toBe(0);
    expect(budget.charge(100)).toBe(0);
    expect(budget.charge(1)).toBe(10);
  });
});
