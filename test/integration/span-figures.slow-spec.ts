import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { loadConfig } from '../../src/base/config/app-config.js';
import { insertBatch, newToolMetric } from '../../src/records/executions/execution-record.js';
import { MetricPartitions } from '../../src/records/executions/rollups/metric-partitions.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import type { Grouping } from '../../src/records/spans/reads/groups.sql.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import { SpanRetention } from '../../src/records/spans/span-retention.js';
import type { SpanRow } from '../../src/records/spans/span-row.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { plainFigures, plainGroups } from '../support/plain-figures.js';
import { spanRow, storeSpans } from '../support/spans.js';

// real: PostgreSQL, the inserts of both intakes, retention, marks; mock: nothing

let database: TestDatabase;
let reads: TraceReads;
beforeAll(async () => {
  Logger.overrideLogger(false);
  database = await createTestDatabase();
  reads = new TraceReads(database.dataSource);
});
afterAll(() => database.release());

const db = () => database.dataSource;
const dayMs = 86_400_000;
const page = { limit: 100, offset: 0 };
const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** A step of a history; numbers choose what it is about, so that steps meet often. */
const drawn = fc.record({
  what: fc.constantFrom(
    ...(['span', 'span', 'told', 'call', 'call', 'deleteRun', 'deleteThread', 'mark'] as const),
    ...(['read', 'read', 'dropSpans', 'dropCalls'] as const),
  ),
  project: fc.constantFrom('default', 'p-b'),
  run: fc.nat(4),
  id: fc.nat(7),
  day: fc.nat(3),
  second: fc.nat(600),
  seconds: fc.nat(90),
  fails: fc.boolean(),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;

/** Noon, so that no span reaches into another day. */
const startOf = ({ day, second }: Drawn): number =>
  (Math.floor(Date.now() / dayMs) - day) * dayMs + second * 1_000;

function spanOf(step: Drawn, fields: Partial<SpanRow> = {}): SpanRow {
  const startUs = startOf(step) * 1_000;
  return spanRow({
    ...{
      project: step.project,
      runId: `run-${step.run}`,
      traceId: `t-${step.run % 2}`,
      spanId: `s-${step.id}`,
    },
    ...{ startUs, finishUs: startUs + step.seconds * 1e6, status: step.fails ? 'error' : 'success' },
    ...{
      threadId: step.id % 2 ? `th-${step.run}` : null,
      parentSpanId: step.id % 3 ? `s-${step.id - 1}` : null,
    },
    ...(step.id % 4 === 0 && { kind: 'llm', callPart: 'whole', model: 'm-1', cost: step.second / 100 }),
    ...fields,
  });
}

/** Executions have few ids, so that spans tell of them before and after they come. */
const callOf = (step: Drawn) =>
  newToolMetric({
    metricId: idOf(step.project === 'default' ? step.id : 100 + step.id),
    ...{ toolName: 'search', traceId: `t-${step.run % 2}`, runId: `run-${step.run}` },
    ...{ executionTimeMs: step.seconds, status: step.fails ? 'error' : 'success' },
    ...{ metadata: { projectId: step.project }, isTest: step.second % 7 === 0 },
    recordedAt: new Date(startOf({ ...step, second: step.id })),
  });

const steps: Readonly<Record<Drawn['what'], (step: Drawn) => Promise<unknown>>> = {
  span: (step) => storeSpans(db(), [spanOf(step), spanOf({ ...step, id: step.id + 1 })]),
  told: (step) =>
    storeSpans(db(), [spanOf(step, { executionId: callOf(step).metricId, kind: 'tool', runId: 'run-told' })]),
  call: (step) => insertBatch(db(), [callOf(step)], 1 + step.id),
  deleteRun: ({ project, run: n }) => reads.delete({ project, runIds: [`run-${n}`] }),
  deleteThread: ({ project, run: n }) => reads.delete({ project, threadIds: [`th-${n}`] }),
  mark: (step) =>
    new ToolMetricsRepository(db()).markSemanticFailure(callOf(step).metricId, step.fails ? 'wrong' : null),
  read: ({ project, run: offset }) => reads.runs({ spans: { project } }, { limit: 3, offset }),
  dropSpans: ({ day }) =>
    new SpanRetention(
      { spans: { ...loadConfig({}).spans, retentionDays: day + 1, maxBytes: 2 ** 40 } },
      db(),
      reads,
    ).run(),
  dropCalls: ({ day }) => new MetricPartitions(db()).dropBefore(new Date(Date.now() - day * dayMs)),
};

/** Whether runs have a span that was sent or several calls. */
async function agentsOf(project: string, runs: readonly Record<string, unknown>[]): Promise<Set<unknown>> {
  const sent = await db().query<{ run_id: string }[]>(
    'SELECT DISTINCT run_id FROM spans WHERE project = $1',
    [project],
  );
  const several = runs.filter((row) => Number(row['total_spans']) > 1).map(({ key }) => key);
  return new Set([...sent.map(({ run_id: id }) => id), ...several]);
}

async function expectRightRuns(project: string): Promise<void> {
  const { data: all } = await plainGroups(db(), { by: 'run' }, { spans: { project } }, page);
  const agents = await agentsOf(project, all);
  const shown = all.map(({ key, run_ids: _, ...figures }) => ({ run_id: key, ...figures }));
  const expected = {
    all: shown,
    agent: shown.filter((row) => agents.has(row.run_id)),
    calls: shown.filter((row) => !agents.has(row.run_id)),
  };
  for (const runKind of [undefined, 'agent', 'calls'] as const) {
    const filter = { project, ...(runKind && { runKind }) };
    const { data, pagination } = await reads.runs({ spans: filter }, page);
    const wanted = expected[runKind ?? 'all'];
    expect({ project, runKind, data }).toEqual({ project, runKind, data: wanted });
    expect(pagination.total).toBe(wanted.length);
  }
}

const today = Math.floor(Date.now() / dayMs) * dayMs * 1_000;
const ranges = [
  {},
  { startUs: today - 1.5 * dayMs * 1_000 },
  { startUs: today + 200e6, endUs: today + 700e6 },
  { startUs: today, endUs: today + 100e6 },
];
const groupings: readonly Grouping[] = [
  { by: 'run' },
  { by: 'thread' },
  ...[3_600, 300, 60].map((bucketSeconds) => ({ by: 'time', bucketSeconds }) as const),
];
const conditions = [
  {},
  { hasErrors: true },
  { minCost: 0.5, maxDurationMs: 60_000 },
  { status: 'success' },
] as const;
const narrower = [{}, { models: ['m-1'] }, { kinds: ['tool'] }, { threadIds: ['th-1'] }] as const;
const pages = [page, { limit: 2, offset: 1 }, { limit: 3, offset: 90 }] as const;

/** Questions are drawn, for there are many: each has its answer of one pass over all spans. */
async function expectRight(draw: (max: number) => number): Promise<void> {
  const of = <T>(list: readonly T[]): T => list[draw(list.length)] as T;
  for (const project of ['default', 'p-b']) {
    await expectRightRuns(project);
    for (const grouping of groupings) {
      const filters = { spans: { project, ...of(ranges), ...of(narrower) }, groups: of(conditions) };
      const at = of(pages);
      const { data, pagination } = await reads.groups(grouping, filters, at);
      const question = { grouping, filters, at };
      const keyed = data.map(({ group_by: _, group_key: key, ...figures }) => ({
        key: String(Object.values(key)[0]),
        ...figures,
      }));
      expect({ question, data: keyed, total: pagination.total }).toEqual({
        question,
        ...(await plainGroups(db(), grouping, filters, at)),
      });
    }
    for (const bucketSeconds of [undefined, 3_600, 60]) {
      const filter = { project, ...of(ranges), ...of(narrower) };
      const question = { filter, bucketSeconds };
      expect({ question, rows: await reads.figures(filter, bucketSeconds) }).toEqual({
        question,
        rows: await plainFigures(db(), filter, bucketSeconds),
      });
    }
  }
}

it('figures are those that one pass over all spans counts, after any history', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(drawn, { minLength: 1, maxLength: 6 }), { maxLength: 8 }),
      fc.infiniteStream(fc.nat(1_000)),
      async (history, numbers) => {
        await db().query('TRUNCATE spans, span_contents, tool_metrics');
        // The steps of a turn run at the same time.
        for (const turn of history) {
          await Promise.all(turn.map((step) => steps[step.what](step)));
          await expectRight((max) => Number(numbers.next().value) % max);
        }
      },
    ),
    { numRuns: 8, endOnFailure: true },
  );
}, 240_000);

it('an existing store is counted when it is read, and nothing of it is missing', async () => {
  await db().query('TRUNCATE spans, span_contents, tool_metrics');
  const step = {
    what: 'span',
    project: 'default',
    run: 1,
    id: 1,
    day: 0,
    second: 1,
    seconds: 1,
    fails: false,
  } as const;
  await steps.span(step);
  await steps.call({ ...step, run: 2 });
  await expectRight(() => 0);
  const all = await reads.runs({ spans: { project: 'default' } }, { limit: 1, offset: 5 });
  expect(all).toEqual({ data: [], pagination: { limit: 1, offset: 5, total: 2 } });
});

it('a database that takes no changes is read all the same', async () => {
  await db().query('TRUNCATE spans, span_contents, tool_metrics');
  const project = 'busy';
  await storeSpans(db(), [
    ...[1, 2, 3].map((n) =>
      spanRow({ project, traceId: `t-${n}`, threadId: 'th', status: n === 2 ? 'error' : 'success' }),
    ),
  ]);
  const url = new URL(database.url);
  url.searchParams.set('options', '-c default_transaction_read_only=on');
  const only = await new DataSource({
    type: 'postgres',
    url: url.toString(),
    installExtensions: false,
  }).initialize();
  try {
    const found = async (by: 'run' | 'thread', groups: object) =>
      (await new TraceReads(only).groups({ by }, { spans: { project }, groups }, page)).data.map(
        ({ run_ids: ids, error_count: errors }) => [ids, errors],
      );
    expect(await found('run', { hasErrors: true })).toEqual([[['t-2'], 1]]);
    expect(await found('thread', {})).toEqual([[['t-1', 't-2', 't-3'], 1]]);
  } finally {
    await only.destroy();
  }
});

it('runs that an older server counted are counted again without a question', async () => {
  await db().query('TRUNCATE spans, span_contents, tool_metrics, run_slices');
  await storeSpans(db(), [
    spanRow({ project: 'older', runId: 'read' }),
    spanRow({ project: 'older', runId: 'other', spanId: 'b' }),
  ]);
  await db().query(`UPDATE run_figures SET figures = '{}' WHERE project = 'older' AND run_id = 'read'`);
  await reads.settleRuns();
  const slices = `SELECT run_id, spans FROM run_slices WHERE project = 'older'`;
  expect(await db().query(slices)).toEqual([{ run_id: 'read', spans: '1' }]);
});
