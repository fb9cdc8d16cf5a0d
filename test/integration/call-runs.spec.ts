import pg from 'pg';
import { withRuns } from '../../src/records/executions/execution-sink.js';
import {
  insertBatch,
  newToolMetric,
  type ToolMetric,
} from '../../src/records/executions/execution-record.js';
import { newId } from '../../src/base/common/ids.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

// real: PostgreSQL, the insert of executions; mock: nothing

let database: TestDatabase;
let reads: TraceReads;
let replicas: pg.Client[];
beforeAll(async () => {
  database = await createTestDatabase();
  reads = new TraceReads(database.dataSource);
  replicas = [1, 2].map(() => new pg.Client({ connectionString: database.url }));
  for (const replica of replicas) await replica.connect();
});
afterAll(async () => {
  for (const replica of replicas) await replica.end();
  await database.release();
});

const noon = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 43_200_000;
/** A call that named no trace, some minutes after noon. */
function call(minute: number, fields: Partial<ToolMetric> = {}): ToolMetric {
  const recordedAt = new Date(noon + minute * 60_000);
  const metricId = newId(recordedAt.getTime());
  const traceId = metricId.replaceAll('-', '');
  return newToolMetric({ toolName: 'search', metricId, traceId, recordedAt, ...fields });
}

async function record(replica: pg.Client | undefined, calls: readonly ToolMetric[]): Promise<void> {
  if (replica) await insertBatch(replica, await withRuns(replica, calls), 0);
}

const runsOf = async (project: string) =>
  (await reads.runs({ spans: { project } }, { limit: 100, offset: 0 })).data.map(
    ({ run_id: id, total_spans: calls, status }) =>
      `${id.replace(/\d{8}T\d{6}$/, 'time')} ${calls} ${status}`,
  );
const inProject = (projectId: string) => ({ metadata: { projectId } });

it.each<[kind: string, fields: Partial<ToolMetric>]>([
  ['investigation', { investigationId: 'inc-1', sessionId: 's' }],
  ['thread', { metadata: { projectId: 'thread', threadId: 'inc-1' } }],
  ['session', { sessionId: 'inc-1' }],
])(
  'calls of one %s are a run until half an hour passes without one, with the status of the last',
  async (kind, fields) => {
    const of = (minute: number, more: Partial<ToolMetric> = {}) =>
      call(minute, { ...inProject(kind), ...fields, ...more });
    await record(replicas[0], [of(0, { status: 'error' }), of(29), of(100, { status: 'error' })]);
    await record(replicas[1], [of(50), of(120, { status: 'error' })]);
    await record(replicas[0], [of(151)]);
    expect(await runsOf(kind)).toEqual([
      `${kind}:inc-1:time 1 success`,
      `${kind}:inc-1:time 2 error`,
      // It came after the run at 100 minutes had begun.
      `${kind}:inc-1:time 1 success`,
      `${kind}:inc-1:time 2 success`,
    ]);
  },
);

it('two replicas agree on the run of an investigation, whoever begins it', async () => {
  const of = (minute: number) => call(minute, { ...inProject('both'), investigationId: 'inc-2' });
  await Promise.all(
    replicas.map(async (replica, at) => {
      for (let n = at; n < 20; n += 2) await record(replica, [of(n / 10), of(n / 10 + 0.05)]);
    }),
  );
  expect(await runsOf('both')).toEqual(['investigation:inc-2:time 40 success']);
});

it('a call that names its run or its trace keeps it, and projects do not share a run', async () => {
  const fields = { ...inProject('named'), investigationId: 'inc-3' };
  await record(replicas[0], [
    call(0, { ...fields, runId: 'run-1' }),
    call(1, { ...fields, traceId: '4bf92f3577b34da6a3ce929d0e0e4736' }),
    call(2, fields),
    call(2, { ...fields, ...inProject('other') }),
    call(3, inProject('named')),
  ]);
  const found = await runsOf('named');
  expect(found).toHaveLength(4);
  expect(found).toEqual(
    expect.arrayContaining([
      'run-1 1 success',
      '4bf92f3577b34da6a3ce929d0e0e4736 1 success',
      'investigation:inc-3:time 1 success',
    ]),
  );
  expect(await runsOf('other')).toEqual(['investigation:inc-3:time 1 success']);
});

it('lists runs of agents, calls and runs of the assistant apart', async () => {
  const of = (investigationId: string) => call(0, { ...inProject('kinds'), investigationId });
  await record(replicas[0], [
    ...[of('one'), of('two'), of('two'), of('assistant-chat')],
    ...[1, 2].map(() => call(0, { ...inProject('kinds'), runId: 'run:agent' })),
  ]);
  const kinds = [undefined, 'agent', 'calls', 'assistant'] as const;
  const found = await Promise.all(
    kinds.map(async (runKind) => {
      const spans = { project: 'kinds', ...(runKind && { runKind }) };
      // Also with a condition on the whole run, which takes another way.
      const all = await reads.runs({ spans, groups: { minCost: 0 } }, { limit: 100, offset: 0 });
      const { data } = await reads.runs({ spans }, { limit: 100, offset: 0 });
      expect(data).toEqual(all.data);
      return data.map(({ run_id: id }) => id.split(':')[1]).toSorted();
    }),
  );
  expect(found).toEqual([
    ['agent', 'assistant-chat', 'one', 'two'],
    ['agent'],
    ['one', 'two'],
    ['assistant-chat'],
  ]);
});
