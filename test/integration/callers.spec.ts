import { Logger } from '@nestjs/common';
import {
  insertBatch,
  newToolMetric,
  type ToolMetric,
} from '../../src/records/executions/execution-record.js';
import { CallerCap } from '../../src/records/executions/rollups/caller-cap.js';
import { addRefusals } from '../../src/records/executions/rollups/callers.sql.js';
import { RefusedCallers } from '../../src/records/executions/rollups/refused-callers.js';
import { ToolMetricsRepository } from '../../src/records/executions/tool-metrics.repository.js';
import type { CallersQuery, CallersView } from '../../src/records/executions/tool-metrics.dto.js';
import { Refusal } from '../../src/base/common/errors.js';
import { CallEvents } from '../../src/web/contract/call-events.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

// real: PostgreSQL

const [hour, day] = [3_600_000, 86_400_000];
const noon = Math.floor(Date.now() / day) * day - day / 2;
let db: TestDatabase;
let metrics: ToolMetricsRepository;

beforeAll(() => Logger.overrideLogger(false));
beforeEach(async () => {
  db = await createTestDatabase();
  metrics = new ToolMetricsRepository(db.dataSource);
});
afterEach(() => db.release());

const call = (userId: string, at = noon, fields: Partial<ToolMetric> = {}): ToolMetric =>
  newToolMetric({ toolName: 't', userId, recordedAt: new Date(at), ...fields });
const failed = { status: 'error', errorType: 'tool_error' };
const insert = (rows: readonly ToolMetric[], slot = 0, cap?: CallerCap): Promise<void> =>
  insertBatch(db.dataSource, rows, slot, cap);

type Asked = Partial<Pick<CallersQuery, 'by' | 'tool'>> & { from?: number; to?: number; projects?: string[] };
const callers = ({ from = noon - day, to = noon + day, projects, ...of }: Asked = {}): Promise<
  CallersView[]
> =>
  metrics.within({ projects }).getCallers({
    by: 'caller',
    tool: 't',
    limit: 1_000,
    since: new Date(from),
    until: new Date(to),
    ...of,
  });
const brief = async (asked?: Asked): Promise<unknown[]> =>
  (await callers(asked)).map(({ name, calls, failures, refusals }) => [name, calls, failures, refusals]);

it('counts by caller and project over hours and days, most failures first; a replay adds nothing', async () => {
  const inA = { metadata: { projectId: 'a', revision: 7 }, investigationId: 'inv-1' };
  const rows = [
    ...[call('bob'), call('bob', noon - 3 * day), call('alice', noon, failed), call('alice', noon + hour)],
    ...[call('carol', noon, { ...inA, ...failed }), call('carol', noon, { ...inA, ...failed })],
    ...[call('dave', noon, { isTest: true }), call('erin', noon, { toolName: 'other-tool' })],
  ];
  await insert(rows);
  // Another writer reads the same journal again.
  await insert(rows, 1);
  await insert([call('bob')], 1);
  expect(await brief()).toEqual([
    ['carol', 2, 2, 0],
    ['alice', 2, 1, 0],
    ['bob', 2, 0, 0],
  ]);
  expect(await brief({ from: noon - 3 * day })).toContainEqual(['bob', 3, 0, 0]);
  expect(await brief({ from: noon + hour, to: noon + hour })).toEqual([['alice', 1, 0, 0]]);
  expect(await brief({ by: 'project' })).toEqual([
    ['a', 2, 2, 0],
    ['default', 4, 1, 0],
  ]);
  expect(await brief({ projects: ['a', 'b'] })).toEqual([['carol', 2, 2, 0]]);
  expect(await brief({ by: 'investigation' })).toEqual([
    ['inv-1', 2, 2, null],
    [null, 4, 1, null],
  ]);
  await insert([call('frank', noon, { metadata: { projectId: 'b' }, investigationId: 'inv-1' })]);
  // Equal ids of two projects are two investigations.
  expect(await callers({ by: 'investigation' })).toMatchObject([
    { name: 'inv-1', project: 'a', calls: 2 },
    { name: null, project: 'default', calls: 4 },
    { name: 'inv-1', project: 'b', calls: 1 },
  ]);
  expect(await brief({ by: 'revision', projects: ['a'] })).toEqual([['7', 2, 2, null]]);
});

it('counts 200 callers of a tool and hour by name, and all others together', async () => {
  const cap = new CallerCap();
  const names = Array.from({ length: 205 }, (_, n) => `caller-${n}`);
  await insert(
    names.map((name) => call(name)),
    0,
    cap,
  );
  // Known callers stay known, further ones do not become so; another hour and tool have their own.
  await insert([call('caller-0'), call('caller-204'), call('caller-204', noon + hour)], 0, cap);
  await insert([call('caller-204', noon, { toolName: 'u' })], 0, cap);
  const counted = await callers({ to: noon });
  expect(counted).toHaveLength(201);
  expect(counted[0]).toMatchObject({ name: 'other', calls: 6 });
  expect(counted).toContainEqual({ name: 'caller-0', project: null, calls: 2, failures: 0, refusals: 0 });
  expect(await brief({ from: noon + hour })).toEqual([['caller-204', 1, 0, 0]]);
  expect(await brief({ tool: 'u' })).toEqual([['caller-204', 1, 0, 0]]);
});

it('counts refusals, which have no record: another server reads them', async () => {
  const events = new CallEvents();
  const refused = new RefusedCallers(events, db.dataSource);
  const refuse = (userId: string, projectId = 'default'): void =>
    events.emit({
      ...{ kind: 'refused', tool: 't', input: {}, refusal: new Refusal('circuit_open', 'no') },
      context: { userId, projectId, requestId: 'r' },
    });
  for (const name of ['bob', 'bob', 'alice']) refuse(name);
  await refused.flush();
  refuse('bob', 'a\u0000');
  await insert([call('bob', Date.now())]);
  await refused.onApplicationShutdown();
  const until = { to: Date.now() + hour };
  expect(await brief(until)).toEqual([
    ['bob', 1, 0, 3],
    ['alice', 0, 0, 1],
  ]);
  expect(await brief({ by: 'project', ...until })).toHaveLength(2);
  expect((await refused.since(new Date(Date.now() - hour))).get('t')).toMatchObject([
    { code: 'circuit_open', count: 4 },
  ]);
  expect(await refused.since(new Date(Date.now() + hour))).toEqual(new Map());
  const ofProject = async (...projects: string[]) =>
    (await refused.since(new Date(Date.now() - hour), projects)).get('t');
  expect(await ofProject('default', 'none')).toEqual([{ code: 'circuit_open', count: 3 }]);
  expect(await ofProject('a\u0000')).toEqual([{ code: 'circuit_open', count: 1 }]);
  expect(await ofProject('none')).toBeUndefined();
});

it('keeps refusals that the database did not take, and writes them later', async () => {
  const events = new CallEvents();
  const refused = new RefusedCallers(events, db.dataSource);
  const context = { userId: 'bob', projectId: 'default', requestId: 'r' };
  const refusal = new Refusal('circuit_open', 'no');
  await db.dataSource.query('ALTER TABLE tool_caller_rollups RENAME TO away');
  events.emit({ kind: 'refused', tool: 't', input: {}, context, refusal });
  await expect(refused.flush()).rejects.toThrow('tool_caller_rollups');
  events.emit({ kind: 'refused', tool: 't', input: {}, context, refusal });
  await db.dataSource.query('ALTER TABLE away RENAME TO tool_caller_rollups');
  await refused.onApplicationShutdown();
  expect(await brief({ to: Date.now() + hour })).toEqual([['bob', 0, 0, 2]]);
});

it('goes with the executions: when they are old, and when an operator empties the table', async () => {
  const rows = (): Promise<object[]> => db.dataSource.query('SELECT FROM tool_caller_rollups');
  await insert([call('bob', noon - 3 * day), call('bob', Date.now())]);
  await db.dataSource.query(addRefusals, [
    [new Date(noon - 3 * day)],
    ['t'],
    ['p'],
    ['eve'],
    ['circuit_open'],
    [1],
    0,
  ]);
  expect(await rows()).toHaveLength(7);
  await metrics.cleanupOldMetrics(2);
  expect(await rows()).toHaveLength(2);
  await db.dataSource.query('TRUNCATE tool_metrics');
  expect(await rows()).toHaveLength(0);
});
