import fc from 'fast-check';
import { decodeEntry, encodeEntry, type JournalEntry, splitLines } from './journal-entry.js';

const entryOf = (text: string): JournalEntry => ({
  start: { metricId: 'id', toolName: text, userId: 'u', startedAt: 1, metadata: { note: text } },
});
const lineOf = (entry: JournalEntry): Buffer => Buffer.from(encodeEntry(entry)).subarray(0, -1);

describe('a journal entry', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodeEntry(lineOf(entryOf(text)))).toEqual(entryOf(text));
      }),
    );
  });

  it('is one line, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { lines, rest } = splitLines(Buffer.from(encodeEntry(entryOf(text))));
        expect([lines.length, rest.length]).toEqual([1, 0]);
      }),
    );
  });

  it('is not read where a bit has flipped or an end is missing', () => {
    const line = lineOf(entryOf('some text'));
    for (let bit = 0; bit < line.length * 8; bit++) {
      const flipped = Buffer.from(line);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(decodeEntry(flipped)).toBeUndefined();
    }
    for (let length = 0; length < line.length; length++)
      expect(decodeEntry(line.subarray(0, length))).toBeUndefined();
  });

  it('is not read where a right checksum stands before something else than JSON', () => {
    // CRC-32 of "x"
    expect(decodeEntry(Buffer.from('8cdc1683 x'))).toBeUndefined();
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
