import { Logger } from '@nestjs/common';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { migrations } from '../../migrations/index.js';
import { EmbeddedPostgres } from '../../src/base/database/embedded/embedded-postgres.js';
import { migrate } from '../../src/base/database/migrate.js';
import { makeTestFolder, removeDeadTestFolders } from './test-folder.js';

export type Run = (sql: string) => Promise<Record<string, unknown>[]>;

export interface TestServer {
  /** What the workers need, as environment variables. */
  readonly environment: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

/** The server that DATABASE_URL names, else an embedded one; on it a migrated template that tests clone. */
export async function startTestServer(): Promise<TestServer> {
  Logger.overrideLogger(false); // Jest's output is for results.
  const prefix = `toolkeeper_test_${randomBytes(5).toString('hex')}`;
  const foreign = process.env['DATABASE_URL'];
  const server = foreign ? { url: foreign, stop: () => dropAll(foreign, prefix) } : await ownServer();
  try {
    await query(server.url, `CREATE DATABASE ${prefix}_template`);
    await migrate(urlOf(server.url, `${prefix}_template`), migrations);
  } catch (error) {
    await server.stop();
    throw error;
  }
  const environment = { TEST_DATABASE_SERVER: server.url, TEST_DATABASE_PREFIX: prefix };
  return { environment, stop: server.stop };
}

/** The same server, another database. */
export function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.toString();
}

export const query = (url: string, sql: string): ReturnType<Run> => connected(url, (run) => run(sql));

/** Several statements on one connection. */
export async function connected<Result>(url: string, work: (run: Run) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(async (sql) => (await client.query<Record<string, unknown>>(sql)).rows);
  } finally {
    await client.end();
  }
}

async function ownServer() {
  await removeDeadTestFolders();
  const directory = makeTestFolder();
  // What tests write need not survive a power cut.
  const settings = {
    ...{ fsync: 'off', full_page_writes: 'off', max_connections: '200' },
    // It does no work of its own beside theirs.
    ...{ autovacuum: 'off', checkpoint_timeout: '1h', max_wal_size: '4GB' },
  };
  const server = await new EmbeddedPostgres({ directory: join(directory, 'postgres'), settings }).start();
  // Tests open thousands of connections: each would compute 4096 hashes, on both of its ends.
  const { username, password } = new URL(server.url);
  await query(server.url, `SET scram_iterations = 1; ALTER ROLE ${username} PASSWORD '${password}'`);
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function dropAll(url: string, prefix: string): Promise<void> {
  const rows = await query(url, `SELECT datname FROM pg_database WHERE starts_with(datname, '${prefix}_')`);
  for (const { datname } of rows) await query(url, `DROP DATABASE "${String(datname)}" WITH (FORCE)`);
}
