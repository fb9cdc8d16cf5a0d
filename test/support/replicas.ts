import type TestAgent from 'supertest/lib/agent.js';
import { tmpdir } from 'node:os';
import { rmSync } from 'node:fs';
import { createTestDatabase, type TestDatabase } from './database.js';
import { supertest } from './http.js';
import { type ServerProcess, startServer } from './server-process.js';
import { makeTestFolder } from './test-folder.js';
import { type Wire, wireTo } from './wire.js';

export interface Replica extends ServerProcess {
  /** Speaks HTTP to this replica, and shows the admin key. */
  readonly http: TestAgent;
  /** Its way to the database. */
  readonly wire: Wire;
}

export interface Replicas {
  readonly db: TestDatabase;
  readonly all: readonly [Replica, Replica];
  /** Starts another replica, or one anew after its end. */
  start(): Promise<Replica>;
  stop(): Promise<void>;
}

const key = 'the-key-of-all-replicas';

/**
 * Two servers in processes of their own on one database.
 * @param own variables of each replica, with a folder that it may use
 */
export async function startReplicas(
  variables: Record<string, string> = {},
  own: (folder: string) => Record<string, string> = () => ({}),
): Promise<Replicas> {
  const db = await createTestDatabase();
  const started: Replica[] = [];
  const folders: string[] = [];
  const start = async (): Promise<Replica> => {
    const [data, tools] = [makeTestFolder(), makeTestFolder()];
    folders.push(data, tools, `${data}-own`);
    const { wire, url } = await wireTo(db.url);
    const places = { DATABASE_URL: url, TOOLKEEPER_DATA_DIR: data, CUSTOM_TOOLS_DIR: tools };
    const shared = { ADMIN_API_KEY: key, SECRETS_KEY: '5e'.repeat(32), SANDBOX_GRANTABLE_PATHS: tmpdir() };
    const server = await startServer({ ...places, ...shared, ...variables, ...own(`${data}-own`) });
    const replica = { ...server, wire, http: supertest.agent(server.url).set(server.key) };
    started.push(replica);
    return replica;
  };
  const all = [await start(), await start()] as const;
  return {
    db,
    all,
    start,
    stop: async () => {
      for (const replica of started)
        if ((replica.child.exitCode ?? replica.child.signalCode) === null) await replica.end('SIGTERM');
      await Promise.all(started.map(({ wire }) => wire.cut()));
      await db.release();
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}
