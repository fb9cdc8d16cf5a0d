import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { acquireLock } from '../../src/base/common/lock.js';
import { identityOf } from '../../src/base/common/process-identity.js';
import { fixtures } from '../support/app.js';
import type { Json } from '../support/json.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the built server as a process, its embedded PostgreSQL, a tool's process, HTTP; mock: nothing

let folder: string;
let server: ServerProcess;
const statusOf = async (path: string): Promise<number> => (await fetch(server.url + path)).status;
const ask = async (path: string, body?: unknown): Promise<Json> => {
  const post = body !== undefined && {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...server.key },
    body: JSON.stringify(body),
  };
  return (await fetch(`${server.url}/api/v1/${path}`, { ...post })).json();
};
/** What readiness says of the database. */
const database = async (): Promise<string> => {
  const answer = await fetch(`${server.url}/readyz`, { headers: server.key });
  return ((await answer.json()) as Json).details.database.status;
};
const call = (): Promise<Json> => ask('tools/steady/execute', { input: {} });
/** 0 in the moment in which one server's file gives way to the next one's. */
const postgresPid = (): number => {
  const file = join(folder, 'postgres/data/postmaster.pid');
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
};
const killPostgres = (): void => void process.kill(postgresPid(), 'SIGKILL');

beforeAll(async () => {
  folder = makeTestFolder();
  server = await startServer({ TOOLKEEPER_DATA_DIR: folder, CUSTOM_TOOLS_DIR: folder });
  const tool = {
    command: 'node',
    args: [join(fixtures, 'fixture-tool.mjs')],
    description: 'd',
    keepAlive: true,
  };
  await ask('custom-tools', { name: 'steady', ...tool });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('an embedded PostgreSQL that dies', () => {
  it('is started again; calls go on meanwhile and are recorded when it is back', async () => {
    expect(await call()).toMatchObject({ status: 'success' });
    const before = postgresPid();
    // A start of the server needs this lock.
    const release = await acquireLock(join(folder, 'postgres/lock'), 10_000);
    try {
      killPostgres();
      await until(async () => (await database()) === 'degraded', { what: 'readiness to say so' });
      for (const path of ['/readyz', '/livez']) expect([path, await statusOf(path)]).toEqual([path, 200]);
      expect(await call()).toMatchObject({ status: 'success' });
    } finally {
      await release();
    }
    await until(async () => (await database()) === 'up', { what: 'the database' });
    expect(postgresPid()).not.toBe(before);
    const recorded = async (): Promise<Json> => (await ask('tool-metrics/executions?tool=steady')).data;
    await until(async () => (await recorded()).length === 2, { what: 'both records' });
  });

  it('again and again is started again each time, and ends with its server', async () => {
    for (let round = 0; round < 2; round++) {
      const before = postgresPid();
      killPostgres();
      // A backend that has not noticed the end of its server yet may still answer readiness.
      const isAnother = async (): Promise<boolean> =>
        postgresPid() !== before && identityOf(postgresPid()) !== undefined && (await database()) === 'up';
      await until(isAnother, { what: 'another server' });
      await ask('custom-tools/steady');
    }
    const last = postgresPid();
    expect(await server.end('SIGTERM')).toBe(0);
    expect(identityOf(last)).toBeUndefined();
  });
});
