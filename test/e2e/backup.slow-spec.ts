import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedPostgres } from '../../src/base/database/embedded/embedded-postgres.js';
import { fixtures } from '../support/app.js';
import { CommandLine, ok } from '../support/command-line.js';
import { createEmptyDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { query } from '../support/test-server.js';
import { until } from '../support/wait.js';

// real: servers as processes with their embedded PostgreSQL, the command line, tools' processes; mock: nothing

jest.setTimeout(300_000);
const desk = makeTestFolder();
const oldId = '00000000-0000-4000-8000-000000000001';
const folder = (): string => mkdtempSync(join(desk, 'data-'));
const running: ServerProcess[] = [];
afterAll(async () => {
  await Promise.all(running.map((server) => server.end('SIGTERM')));
  rmSync(desk, { recursive: true, force: true });
});

async function start(data: string): Promise<ServerProcess> {
  const tools = `${data}-tools`;
  const server = await startServer({ TOOLKEEPER_DATA_DIR: data, CUSTOM_TOOLS_DIR: tools }, 110_000);
  running.push(server);
  return server;
}
const cliOf = (data: string, more = {}): CommandLine =>
  new CommandLine({ TOOLKEEPER_DATA_DIR: data, ...more }, desk);
async function ask({ url, key }: ServerProcess, path: string, body?: object, headers = {}): Promise<Json> {
  const answer = await fetch(`${url}${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...key, ...headers },
  });
  return answer.json();
}
const call = (server: ServerProcess, tool: string, input: object, headers = {}): Promise<Json> =>
  ask(server, `/api/v1/tools/${tool}/execute`, { input }, headers);
/** Statements in the database of a running server. */
async function sql(data: string, text: string): Promise<Json[]> {
  const server = await new EmbeddedPostgres({ directory: join(data, 'postgres') }).start();
  return query(server.url, text).finally(() => server.stop());
}

/** Calls without pause until it is stopped. @returns ids of the executions that were acknowledged */
function load(server: ServerProcess): {
  readonly acknowledged: string[];
  readonly stop: () => Promise<unknown>;
} {
  const acknowledged: string[] = [];
  let stopped = false;
  const caller = async (): Promise<void> => {
    while (!stopped) {
      const { executionId } = await call(server, 'sealed', { action: 'echo' });
      if (executionId) acknowledged.push(executionId);
    }
  };
  const callers = Promise.all([caller(), caller(), caller()]);
  return { acknowledged, stop: () => ((stopped = true), callers) };
}

it('a server under load is backed up, and goes on elsewhere with all that it had acknowledged', async () => {
  const [from, to] = [folder(), folder()];
  const [here, there] = [cliOf(from), cliOf(to)];
  const file = join(desk, 'backup.tgz');
  const first = await start(from);
  await ok(here.run('tool', 'create', 'bundled'));
  await ok(here.run('tool', 'register', 'bundled'));
  const tool = { command: 'node', args: [join(fixtures, 'fixture-tool.mjs')], description: 'd' };
  await ask(first, '/api/v1/custom-tools', { ...tool, name: 'sealed', env: { TOKEN: 'a secret' } });
  const queued = await call(first, 'sealed', { action: 'echo' }, { prefer: 'respond-async' });
  await until(async () => (await sql(from, 'SELECT FROM tool_metrics')).length > 0, {
    what: 'the queued call',
  });
  await sql(from, `SELECT make_tool_metrics_day((now() - interval '9 days')::date)`);
  await sql(
    from,
    `INSERT INTO tool_metrics SELECT (old).* FROM (
       SELECT jsonb_populate_record(m, jsonb_build_object('metric_id', '${oldId}', 'recorded_at', now() - interval '9 days')) AS old
       FROM tool_metrics AS m LIMIT 1) AS made`,
  );
  const events = async (data: string): Promise<number> =>
    (await sql(data, 'SELECT count(*)::int AS n FROM tool_events'))[0]?.n ?? 0;
  await call(first, 'sealed', { action: 'crash' });
  await until(async () => (await events(from)) > 0, { what: 'the event of the crash' });
  const { acknowledged, stop } = load(first);
  await until(() => acknowledged.length > 20, { what: 'calls' });
  const before = [...acknowledged];
  await ok(here.run('backup', file, '--with-key'));
  expect(acknowledged.length).toBeGreaterThan(before.length);
  await stop();
  expect(statSync(file).mode & 0o077).toBe(0);
  expect(readdirSync(desk).filter((name) => name.includes('unfinished'))).toEqual([]);

  expect(await ok(there.run('restore', file))).toMatch(/^restored: /);
  expect((await there.run('restore', file)).stderr).toContain('is not empty');
  const second = await start(to);
  const rows = await sql(to, 'SELECT metric_id::text AS id FROM tool_metrics');
  const ids = new Set(rows.map(({ id }) => id));
  expect(before.filter((id) => !ids.has(id))).toEqual([]);
  // In the partition of its day.
  expect(
    await sql(to, `SELECT tableoid::regclass AS part FROM tool_metrics WHERE metric_id = '${oldId}'`),
  ).toEqual([{ part: expect.stringMatching(/_\d{8}$/) }]);
  expect((await call(second, 'sealed', { action: 'env' })).result).toMatchObject({ TOKEN: 'a secret' });
  expect(await call(second, 'bundled', { query: 'x' })).toMatchObject({ status: 'success' });
  expect(await ask(second, `/api/v1/executions/${queued.id}`)).toMatchObject({ status: 'ended' });
  // Sequences go on behind the rows that were copied.
  const copied = await events(to);
  expect(copied).toBeGreaterThan(0);
  await call(second, 'sealed', { action: 'crash' });
  await until(async () => (await events(to)) > copied, { what: 'a new event' });
});

it('a backup needs a server that runs, and a restore a backup, each says so and leaves nothing', async () => {
  const empty = folder();
  const cli = cliOf(empty);
  const file = join(desk, 'none.tgz');
  const refused = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await cli.run(...args);
    expect([code === 0, stderr]).toEqual([false, expect.not.stringMatching(/^\s+at /m)]);
    return stderr;
  };
  expect(await refused('backup', file)).toContain('no server runs on');
  expect(await refused('restore', file)).toContain('does not exist');
  writeFileSync(file, 'no archive');
  expect(await refused('restore', file)).toMatch(/no backup/);
  expect(await refused('backup', file)).toContain('exists already');
  expect(readdirSync(empty)).toEqual([]);
});

it('a backup of another database restores nothing into one that has tables', async () => {
  const db = await createEmptyDatabase();
  try {
    const cli = cliOf(folder(), { DATABASE_URL: db.url });
    const file = join(desk, 'backup.tgz');
    await ok(cli.run('restore', file));
    expect(await query(db.url, 'SELECT name FROM custom_tools ORDER BY 1')).toEqual([
      { name: 'bundled' },
      { name: 'sealed' },
    ]);
    const again = cliOf(folder(), { DATABASE_URL: db.url });
    expect((await again.run('restore', file)).stderr).toContain('has tables');
  } finally {
    await db.drop();
  }
});
