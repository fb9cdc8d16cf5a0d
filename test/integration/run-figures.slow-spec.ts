import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { loadConfig } from '../../src/base/config/app-config.js';
import { insertBatch, newToolMetric } from '../../src/records/executions/execution-record.js';
import { MetricPartitions } from '../../src/records/executions/rollups/metric-partitions.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import { selectGroupKeys, selectGroups } from '../../src/records/spans/reads/groups.sql.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import { SpanRetention } from '../../src/records/spans/span-retention.js';
import type { SpanRow } from '../../src/records/spans/span-row.js';
import type { Statement } from '../../src/base/database/statement.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
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
const by = { by: 'run' } as const;
const run = ({ text, values }: Statement): Promise<Record<string, unknown>[]> => db().query(text, values);
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

/** Figures of all runs counted from scratch, and whether a span was sent or there are two. */
async function fromScratch(project: string) {
  const spans = { project };
  const keys = await run(selectGroupKeys(by, { spans }, { limit: 100, offset: 0 }));
  const rows = await run(selectGroups(by, { project, runIds: keys.map(({ key }) => String(key)) }));
  const sent = await db().query<{ run_id: string }[]>(
    'SELECT DISTINCT run_id FROM spans WHERE project = $1',
    [project],
  );
  const ofAgents = new Set(sent.map(({ run_id: id }) => id));
  const order = keys.map(({ key }) => key);
  const data = rows
    .toSorted((a, b) => order.indexOf(a['key']) - order.indexOf(b['key']))
    .map(({ key, run_ids: _, ...figures }) => ({ run_id: key, ...figures }));
  const isAgents = (row: Record<string, unknown>): boolean =>
    Number(row['total_spans']) > 1 || ofAgents.has(String(row['run_id']));
  return { all: data, agent: data.filter(isAgents), calls: data.filter((row) => !isAgents(row)) };
}

async function expectRight(): Promise<void> {
  for (const project of ['default', 'p-b']) {
    const expected = await fromScratch(project);
    for (const runKind of [undefined, 'agent', 'calls'] as const) {
      const filter = { project, ...(runKind && { runKind }) };
      const { data, pagination } = await reads.runs({ spans: filter }, { limit: 100, offset: 0 });
      const wanted = expected[runKind ?? 'all'];
      expect({ project, runKind, data }).toEqual({ project, runKind, data: wanted });
      expect(pagination.total).toBe(wanted.length);
    }
  }
}

it('a list of runs has the figures that are counted from scratch, after any history', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(drawn, { minLength: 1, maxLength: 6 }), { maxLength: 8 }),
      async (history) => {
        await db().query('TRUNCATE spans, span_contents, tool_metrics');
        // The steps of a turn run at the same time.
        for (const turn of history) {
          await Promise.all(turn.map((step) => steps[step.what](step)));
          await expectRight();
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
  await expectRight();
  const all = await reads.runs({ spans: { project: 'default' } }, { limit: 1, offset: 5 });
  expect(all).toEqual({ data: [], pagination: { limit: 1, offset: 5, total: 2 } });
});
