import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { spansInJson } from '../../src/records/spans/ingest/otlp-json.js';
import { normaliseSpan } from '../../src/records/spans/ingest/normalise-span.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import type { SpanRow } from '../../src/records/spans/span-row.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { spanRow, storeSpans } from '../support/spans.js';

// real: PostgreSQL, spans as libraries exported them; mock: nothing

let database: TestDatabase;
let reads: TraceReads;
beforeAll(async () => {
  database = await createTestDatabase();
  reads = new TraceReads(database.dataSource);
});
afterAll(() => database.release());

const folder = join(__dirname, '..', 'fixtures', 'spans');
const page = { limit: 10, offset: 0 };

/** Spans of a library, of which the root alone names a thread. */
function spansOf(library: string, project: string): SpanRow[] {
  const sent = spansInJson(JSON.parse(readFileSync(join(folder, `${library}.json`), 'utf8'))).spans;
  const scope = { project, keyId: null, now: Date.now(), retentionDays: 3_650 };
  const rows = sent.map((read) => normaliseSpan(read(), scope));
  return rows.map((row) => ({ ...row, threadId: row.parentSpanId === null ? 'thread-1' : null }));
}

const isRoot = ({ parentSpanId }: SpanRow): boolean => parentSpanId === null;
const orders: Readonly<Record<string, (rows: readonly SpanRow[]) => SpanRow[][]>> = {
  'in one batch': (rows) => [[...rows]],
  'before its root': (rows) => [rows.filter((row) => !isRoot(row)), rows.filter(isRoot)],
  'after its root': (rows) => [rows.filter(isRoot), rows.filter((row) => !isRoot(row))],
  'twice, the second time as it ends': (rows) => [
    [...rows],
    rows.map((row) => ({ ...row, finishUs: row.finishUs + 1 })),
  ],
};
const cases = ['openinference-langgraph', 'openllmetry'].flatMap((library) =>
  Object.keys(orders).map((order) => [library, order] as const),
);

it.each(cases)('a thread has the calls of its run, by %s %s', async (library, order) => {
  const project = `${library} ${order}`;
  for (const batch of orders[order]?.(spansOf(library, project)) ?? [])
    await storeSpans(database.dataSource, batch);
  const [run] = (await reads.runs({ spans: { project } }, page)).data;
  const [thread] = (await reads.groups({ by: 'thread' }, { spans: { project } }, page)).data;
  const {
    used_models: models,
    llm_calls: calls,
    input_tokens: input,
    output_tokens: output,
    cost,
  } = run ?? {};
  expect(calls).toBeGreaterThan(0);
  expect(cost).toBeGreaterThan(0);
  expect(thread).toMatchObject({
    group_key: { thread_id: 'thread-1' },
    ...{ used_models: models, llm_calls: calls, input_tokens: input, output_tokens: output, cost },
  });
});

it('spans below roots of several threads, and of traces whose root names none, stay without one', async () => {
  const project = 'several';
  const root = (spanId: string, threadId: string | null, traceId = 'two') =>
    spanRow({ project, traceId, spanId, threadId });
  const child = (traceId: string) => spanRow({ project, traceId, spanId: 'child', parentSpanId: 'a' });
  await storeSpans(database.dataSource, [root('a', 'th-1'), root('b', 'th-2'), child('two')]);
  await storeSpans(database.dataSource, [root('a', null, 'none'), child('none')]);
  const { data } = await reads.spans({ project }, { ...page, withAttributes: false });
  const threads = data.map(({ trace_id: trace, span_id: id, thread_id: thread }) => [trace, id, thread]);
  expect(threads.toSorted()).toEqual([
    ['none', 'a', null],
    ['none', 'child', null],
    ['two', 'a', 'th-1'],
    ['two', 'b', 'th-2'],
    ['two', 'child', null],
  ]);
});
