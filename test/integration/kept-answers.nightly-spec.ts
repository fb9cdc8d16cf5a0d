import { newId } from '../../src/base/common/ids.js';
import { insertBatch, newToolMetric } from '../../src/records/executions/execution-record.js';
import type { SpanRow } from '../../src/records/spans/span-row.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { spanRow, storeSpans } from '../support/spans.js';

// real: PostgreSQL, the inserts of spans and executions; mock: nothing

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.release());

const secondUs = 1_000_000;
const startUs = Math.floor(Date.now() / 1_000) * secondUs - 3_600 * secondUs;
const page = { limit: 100, offset: 0 };
const execution = { metricId: newId(), recordedAt: new Date(startUs / 1_000 + 90_000) };

/** A span of a project, some seconds after the first. */
const span = (project: string, spanId: string, second: number, fields: Partial<SpanRow> = {}): SpanRow =>
  spanRow({
    ...{ project, spanId, threadId: 'thread-1', startUs: startUs + second * secondUs },
    ...{ finishUs: startUs + (second + 5) * secondUs },
    ...fields,
  });

const call = { kind: 'llm', callPart: 'whole', model: 'm-1', cost: 0.01, inputTokens: 800 } as const;

const ranges = {
  always: {},
  'to now': { startUs: startUs - 3_600 * secondUs, endUs: startUs + 3_600 * secondUs },
  'the first minute': { startUs, endUs: startUs + 60 * secondUs },
} as const;

/** Each question about a project, with its answer. */
async function answersOf(reads: TraceReads, project: string): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [name, range] of Object.entries(ranges)) {
    const spans = { project, ...range };
    for (const grouping of [{ by: 'thread' }, { by: 'time', bucketSeconds: 60 }] as const) {
      answers[`${grouping.by} ${name}`] = await reads.groups(grouping, { spans }, page);
      const groups = { hasErrors: false, minCost: 0.005 };
      answers[`${grouping.by} ${name}, cost`] = await reads.groups(grouping, { spans, groups }, page);
    }
    for (const groups of [{}, { status: 'success' }, { maxDurationMs: 7_000 }] as const)
      answers[`run ${name} ${JSON.stringify(groups)}`] = await reads.runs({ spans, groups }, page);
    answers[`agents ${name}`] = await reads.runs({ spans: { ...spans, runKind: 'agent' } }, page);
    answers[`stats ${name}`] = await reads.figures(spans);
    answers[`by minute ${name}`] = await reads.figures(spans, 60);
  }
  return answers;
}

const changes: Readonly<Record<string, (project: string) => Promise<unknown>>> = {
  'a span comes': (project) =>
    storeSpans(database.dataSource, [span(project, 'new', 20, { ...call, traceId: 'trace-3' })]),
  'a span comes with a later end': (project) =>
    storeSpans(database.dataSource, [
      span(project, 'call', 2, { ...call, finishUs: startUs + 9 * secondUs }),
    ]),
  'the outer span of a model call comes': (project) =>
    storeSpans(database.dataSource, [
      span(project, 'root', 0, { ...call, callPart: 'outer', finishUs: startUs + 6 * secondUs }),
    ]),
  'a run is deleted': (project) =>
    new TraceReads(database.dataSource).delete({ project, runIds: ['trace-2'] }),
  'an execution comes': (project) =>
    insertBatch(
      database.dataSource,
      [
        newToolMetric({
          ...{ toolName: 'search', traceId: 'trace-4', status: 'error', executionTimeMs: 40 },
          ...{ metricId: newId(), recordedAt: new Date(startUs / 1_000 + 30_000) },
          metadata: { projectId: project, threadId: 'thread-2' },
        }),
      ],
      0,
    ),
  'a span tells of an execution': (project) =>
    storeSpans(database.dataSource, [
      span(project, 'told', 89, { traceId: 'trace-2', executionId: execution.metricId }),
    ]),
  'an execution is marked as wrong': () =>
    database.dataSource.query(`UPDATE tool_metrics SET status = 'error' WHERE metric_id = $1`, [
      execution.metricId,
    ]),
  'a day of spans is dropped': () => database.dataSource.query('TRUNCATE spans'),
};

it.each(Object.entries(changes))('answers are as if they were counted anew: %s', async (project, change) => {
  const { dataSource } = database;
  await dataSource.query('TRUNCATE tool_metrics');
  const metadata = { projectId: project };
  const own = newToolMetric({ toolName: 'search', traceId: 'trace-2', ...execution, metadata });
  await insertBatch(dataSource, [own], 0);
  await storeSpans(dataSource, [
    span(project, 'root', 0),
    span(project, 'call', 2, { ...call, parentSpanId: 'root' }),
    span(project, 'second', 70, { traceId: 'trace-2', threadId: 'thread-2', status: 'error' }),
  ]);
  const reads = new TraceReads(dataSource);
  const before = await answersOf(reads, project);
  expect(await answersOf(reads, project)).toEqual(before);
  await change(project);
  const after = await answersOf(reads, project);
  expect(after).toEqual(await answersOf(new TraceReads(dataSource), project));
  expect(after).not.toEqual(before);
});

it('a kept answer reads no spans, and holds for each range that has the same ones', async () => {
  const project = 'kept';
  await storeSpans(database.dataSource, [
    span(project, 'a', 0),
    span(project, 'b', 10),
    span(project, 'c', 20),
  ]);
  const reads = new TraceReads(database.dataSource);
  const spansIn = async (from: number, to: number) => {
    const range = { startUs: startUs + from * secondUs, endUs: startUs + to * secondUs };
    const [figures] = await reads.figures({ project, ...range });
    return figures?.spans;
  };
  expect(await spansIn(-100, 15)).toBe(2);
  const holder = database.dataSource.createQueryRunner();
  await holder.startTransaction();
  try {
    await holder.query('LOCK TABLE spans');
    expect([await spansIn(-50, 10), await spansIn(0, 19)]).toEqual([2, 2]);
  } finally {
    await holder.rollbackTransaction();
    await holder.release();
  }
  expect([await spansIn(1, 15), await spansIn(0, 20), await spansIn(0, 9)]).toEqual([1, 3, 1]);
});

it('a run whose figures cannot be stored is found by them all the same', async () => {
  const project = 'busy';
  await storeSpans(database.dataSource, [span(project, 'a', 0, { ...call, status: 'error' })]);
  const reads = new TraceReads(database.dataSource);
  const found = async (groups: object) =>
    (await reads.runs({ spans: { project }, groups }, page)).data.map(({ cost }) => cost);
  const holder = database.dataSource.createQueryRunner();
  await holder.startTransaction();
  try {
    await holder.query('SELECT FROM run_figures WHERE project = $1 FOR UPDATE', [project]);
    expect([await found({ hasErrors: true, minCost: 0.01 }), await found({ maxCost: 0.005 })]).toEqual([
      [0.01],
      [],
    ]);
  } finally {
    await holder.rollbackTransaction();
    await holder.release();
  }
});
