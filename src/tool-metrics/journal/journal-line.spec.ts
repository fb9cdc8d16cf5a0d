import fc from 'fast-check';
import { encodeEntry, type JournalEntry } from './journal-entry.js';
import { decodeLine, LineEncoder, splitLines } from './journal-line.js';

const entryOf = (text: string): JournalEntry => ({
  start: { metricId: 'id', toolName: text, userId: 'u', startedAt: 1, metadata: { note: text } },
});
const encode = (entries: readonly JournalEntry[], encoder = new LineEncoder()): Buffer =>
  Buffer.from(encoder.encode(entries.map(encodeEntry)));
const lineOf = (...entries: readonly JournalEntry[]): Buffer => encode(entries).subarray(0, -1);

describe('a line of the journal', () => {
  const texts = fc.array(fc.string({ unit: 'binary' }), { minLength: 1 });

  it('is read as it was written, and is one line whatever it holds', () => {
    const encoder = new LineEncoder();
    fc.assert(
      fc.property(texts, (all) => {
        const entries = all.map(entryOf);
        const { lines, rest } = splitLines(encode(entries, encoder));
        expect([lines.map(decodeLine), rest.length]).toEqual([[entries], 0]);
      }),
    );
  });

  it('is followed by another where much comes together, and none is longer than the reader takes', () => {
    const encoder = new LineEncoder();
    const entries = Array.from({ length: 400 }, (_, n) => entryOf(`${n} ${'ß'.repeat(n)}`));
    const { lines, rest } = splitLines(encode(entries, encoder));
    expect(lines.flatMap((line) => decodeLine(line))).toEqual(entries);
    expect([lines.length > 1, Math.max(...lines.map((line) => line.length)) < 200_000, rest.length]).toEqual([
      true,
      true,
      0,
    ]);
    const long = entryOf('long'.repeat(100_000));
    expect(splitLines(encode([long], encoder)).lines.map(decodeLine)).toEqual([[long]]);
    expect(encode([], encoder)).toHaveLength(0);
  });

  it('is not read where a bit has flipped or an end is missing', () => {
    const line = lineOf(entryOf('some text'), { discard: 'id' });
    for (let bit = 0; bit < line.length * 8; bit++) {
      const flipped = Buffer.from(line);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(decodeLine(flipped)).toBeUndefined();
    }
    for (let length = 0; length < line.length; length++)
      expect(decodeLine(line.subarray(0, length))).toBeUndefined();
  });

  it('is not read where a right checksum stands before something else than JSON, or than entries', () => {
    // CRC-32 of "x", of "[1]" and of "{}"
    for (const line of ['8cdc1683 x', '4c2f32b8 [1]', 'a3a6bf43 {}'])
      expect([line, decodeLine(Buffer.from(line))]).toEqual([line, undefined]);
  });

  it('is read as earlier versions wrote it: one entry, without brackets', () => {
    expect(decodeLine(Buffer.from('bd55e5d5 {"discard":"id"}'))).toEqual([{ discard: 'id' }]);
  });
});

it('splits whole lines off and leaves the rest', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-c]*$/), { minLength: 1 }), (parts) => {
      const { lines, rest } = splitLines(Buffer.from(parts.join('\n')));
      expect([...lines, rest].map(String)).toEqual(parts);
    }),
  );
});
