import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf } from '../../src/base/common/process-identity.js';
import { fixtures } from '../support/app.js';
import { createEmptyDatabase, createTestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { launchServer, type ServerProcess, startServer } from '../support/server-process.js';
import { mountSmallDisk } from '../support/small-disk.js';
import { makeTestFolder } from '../support/test-folder.js';
import { query } from '../support/test-server.js';
import { until } from '../support/wait.js';

// real: the built server as processes, embedded PostgreSQL, ports, disks, the tools' processes; mock: nothing

const folders: string[] = [];
const newFolder = (): string => folders[folders.push(makeTestFolder()) - 1] as string;
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
const settings = (folder: string): Record<string, string> => ({
  TOOLKEEPER_DATA_DIR: folder,
  CUSTOM_TOOLS_DIR: join(folder, 'none'),
});
const postgresOf = (folder: string): number => {
  const file = join(folder, 'postgres/data/postmaster.pid');
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
};
/** Starts a server that must not come up. @returns what it said */
async function refuses(variables: Record<string, string>): Promise<string> {
  const { child, log } = launchServer(variables);
  await until(() => child.exitCode !== null, { what: 'the end of the server', timeoutMs: 110_000 });
  expect(child.exitCode).toBe(1);
  return log();
}
const post = async (server: ServerProcess, path: string, body: object): Promise<Json> => {
  const headers = { 'content-type': 'application/json', ...server.key };
  const answer = await fetch(`${server.url}/api/v1/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return answer.json();
};

it('leaves a first server on the same data directory unharmed', async () => {
  const folder = newFolder();
  const first = await startServer(settings(folder), 110_000);
  try {
    const postgres = postgresOf(folder);
    expect((await refuses(settings(folder))).trim().split('\n').at(-1)).toMatch(
      /^The journal of executions in .* belongs to another gateway, .*DIR$/,
    );
    expect(postgresOf(folder)).toBe(postgres);
    expect(identityOf(postgres)).toBeDefined();
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  } finally {
    await first.end('SIGTERM');
  }
});

it('refuses a database that it cannot upgrade, and says what to do', async () => {
  const db = await createEmptyDatabase();
  await query(
    db.url,
    `CREATE TABLE migrations (id serial PRIMARY KEY, timestamp bigint, name text);
     INSERT INTO migrations (timestamp, name) VALUES (1732200010000, 'ToolMetrics1732200010000')`,
  );
  try {
    const said = await refuses({ ...settings(newFolder()), DATABASE_URL: db.url });
    expect(said).toMatch(/last migration is .*TOOLKEEPER_DATA_DIR.*DATABASE_URL/);
    expect(said).not.toMatch(/^\s+at /m);
  } finally {
    await db.drop();
  }
});

it('ends with the reason where its data directory cannot be written', async () => {
  const folder = join(newFolder(), 'disk');
  const unmount = mountSmallDisk(folder);
  const db = await createTestDatabase({ connect: false });
  try {
    // Where nothing can be mounted a file stands in the folder's place.
    if (unmount) execFileSync('mount', ['-o', 'remount,ro', folder]);
    else rmSync(folder, { recursive: true });
    if (!unmount) writeFileSync(folder, '');
    expect(await refuses({ ...settings(folder), DATABASE_URL: db.url })).toMatch(/EROFS|ENOTDIR|EEXIST/);
  } finally {
    unmount?.();
    await db.release();
  }
});

it('answers and records every call while the segments of its journal are deleted', async () => {
  const folder = newFolder();
  const db = await createTestDatabase();
  const server = await startServer({ ...settings(folder), DATABASE_URL: db.url }, 110_000);
  try {
    await post(server, 'custom-tools', {
      name: 'quick',
      command: 'node',
      args: [join(fixtures, 'fixture-tool.mjs')],
      description: 'd',
      keepAlive: true,
    });
    const journal = join(folder, 'journal');
    for (let n = 0; n < 70; n++) {
      expect(await post(server, 'tools/quick/execute', { input: { n } })).toMatchObject({
        status: 'success',
      });
      if (n % 10 === 9) {
        const names = readdirSync(journal).filter((name) => name.endsWith('.journal'));
        for (const name of names) rmSync(join(journal, name));
      }
    }
    const rows = async (): Promise<number> => {
      const [row] = await db.dataSource.query<{ n: string }[]>('SELECT count(*) AS n FROM tool_metrics');
      return Number(row?.n);
    };
    await until(async () => (await rows()) >= 70, { what: 'a row of every call' });
    expect(await rows()).toBe(70);
  } finally {
    await server.end('SIGTERM');
    await db.release();
  }
});
