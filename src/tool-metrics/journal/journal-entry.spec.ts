import fc from 'fast-check';
import { sha256 } from '../../common/canonical-json.js';
import {
  decodeEntry,
  encodeEntry,
  type ExecutionEnd,
  type ExecutionStart,
  type JournalEntry,
  splitLines,
} from './journal-entry.js';

type AllOf<T> = { readonly [member in keyof Required<T>]: T[member] | undefined };

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

  it('is read with every member that it was written with', () => {
    const text = fc.string({ unit: 'binary' });
    const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
    const metadata = fc.dictionary(fc.string(), fc.oneof(text, fc.integer(), fc.boolean()));
    // Every member by its name: one that is added to the type must be added here.
    const starts: fc.Arbitrary<AllOf<ExecutionStart>> = fc.record({
      metricId: fc.uuid(),
      toolName: text,
      userId: text,
      sessionId: maybe(text),
      requestId: maybe(text),
      investigationId: maybe(text),
      runId: maybe(text),
      parametersHash: maybe(fc.constant(sha256('{}'))),
      inputSize: maybe(fc.nat()),
      isTest: maybe(fc.boolean()),
      startedAt: fc.nat(),
      metadata,
    });
    const ends: fc.Arbitrary<AllOf<ExecutionEnd>> = fc.record({
      metricId: fc.uuid(),
      status: fc.constantFrom('success', 'error', 'timeout'),
      executionTimeMs: fc.nat(),
      errorType: maybe(text),
      errorMessage: maybe(text),
      toolFault: maybe(fc.boolean()),
      outputSize: maybe(fc.nat()),
      metadata: maybe(metadata),
      endedAt: fc.nat(),
      place: fc.nat(),
    });
    const entries = fc.oneof(
      starts.map((start) => ({ start }) as JournalEntry),
      ends.map((end) => ({ end }) as JournalEntry),
      text.map((discard) => ({ discard })),
    );
    fc.assert(
      fc.property(entries, (entry) => {
        const absentDropped: unknown = JSON.parse(JSON.stringify(entry));
        expect(decodeEntry(lineOf(entry))).toEqual(absentDropped);
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
