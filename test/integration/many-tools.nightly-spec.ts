import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { supertest } from '../support/http.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the built server in a process of its own, PostgreSQL, HTTP, tools; mock: 2,000 tools are copies of one, as rows

const copies = 2_000;
const maxMoreMs = 1_500;

/** CPU time that a process and its threads have taken. */
function cpuMsOf({ child: { pid } }: ServerProcess): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(utime) + Number(stime)) * 10;
}

/** Copies the tool that there is, with its revision. */
async function copyTool({ dataSource }: TestDatabase): Promise<void> {
  const copy = async (table: string, values: Record<string, string>): Promise<void> => {
    const sql = 'SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1';
    const columns = (await dataSource.query<{ name: string }[]>(sql, [table])).map(({ name }) => name);
    await dataSource.query(
      `INSERT INTO ${table} (${columns.join(', ')})
       SELECT ${columns.map((column) => values[column] ?? `t.${column}`).join(', ')}
       FROM ${table} t, generate_series(1, ${copies}) AS n`,
    );
  };
  const id = `('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid`;
  const own = { id, name: `'copy_' || n`, user_number: `nextval('custom_tool_users')::integer` };
  await copy('custom_tools', own);
  await copy('custom_tool_revisions', { tool_id: id });
}

describe('a server with 2,001 tools', () => {
  let db: TestDatabase;
  const folder = makeTestFolder();
  const start = (): Promise<ServerProcess> =>
    startServer(
      {
        DATABASE_URL: db.url,
        TOOLKEEPER_DATA_DIR: folder,
        CUSTOM_TOOLS_DIR: join(folder, 'tools'),
        SANDBOX_GRANTABLE_PATHS: `/tmp:${fixtures}`,
        CUSTOM_TOOLS_START_TIMEOUT: '45000',
      },
      240_000,
    );
  /** The CPU time until it is ready, and the server. */
  const ready = async (): Promise<{ server: ServerProcess; ms: number }> => {
    const server = await start();
    return { server, ms: cpuMsOf(server) };
  };

  beforeAll(async () => {
    db = await createTestDatabase();
    const server = await start();
    const http = supertest.agent(server.url).set(server.key);
    const args = [join(fixtures, 'fixture-tool.mjs')];
    await http.post('/api/v1/custom-tools').send({ name: 'first', command: 'node', args }).expect(201);
    await server.end('SIGTERM');
  }, 300_000);
  afterAll(async () => {
    await db.release();
    rmSync(folder, { recursive: true, force: true });
  });

  it(`is ready with at most ${maxMoreMs} ms of CPU more than with one, and runs what it has not loaded yet`, async () => {
    const one = await ready();
    await one.server.end('SIGTERM');
    await copyTool(db);
    const { server, ms } = await ready();
    try {
      process.stdout.write(`CPU until ready: ${one.ms} ms with one tool, ${ms} ms with 2,001\n`);
      const http = supertest.agent(server.url).set(server.key);
      const loaded = async (): Promise<number> => {
        const { body } = await http.get('/startupz').expect(200);
        return Number(/^loaded (\d+) of 2001 tools$/.exec(body.info.startup.message)?.[1]);
      };
      const before = await loaded();
      expect(before).toBeLessThan(1_000);
      const call = await http.post('/api/v1/tools/copy_999/execute').send({ input: {} }).expect(200);
      expect(call.body.status).toBe('success');
      expect((await http.get('/api/v1/tools?limit=100').expect(200)).body.data).toHaveLength(100);
      await until(async () => (await loaded()) > before, { what: 'more tools to be loaded' });
      expect(ms - one.ms).toBeLessThan(maxMoreMs);
    } finally {
      await server.end('SIGTERM');
    }
  }, 600_000);
});
