import fc from 'fast-check';
import { sha256 } from '../../common/canonical-json.js';
import { encodeEntry, type ExecutionEnd, type ExecutionStart, type JournalEntry } from './journal-entry.js';

type AllOf<T> = { readonly [member in keyof Required<T>]: T[member] | undefined };

describe('a journal entry', () => {
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
        expect(JSON.parse(encodeEntry(entry))).toEqual(absentDropped);
      }),
    );
  });
});
