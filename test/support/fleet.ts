import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from './database.js';
import { bearer } from './admin-key.js';
import { supertest, type Test } from './http.js';
import { fixtures } from './app.js';
import { type ServerProcess, startServer } from './server-process.js';
import { makeTestFolder } from './test-folder.js';

/** One replica: a process of its own with a folder of its own. */
export interface FleetReplica extends ServerProcess {
  readonly http: ReturnType<typeof supertest.agent>;
  /** Calls a tool. */
  call(name: string, input?: unknown, headers?: Record<string, string>): Test;
}

export interface Fleet {
  readonly db: TestDatabase;
  readonly replicas: readonly FleetReplica[];
  /** Starts another one. */
  join(variables?: Record<string, string>): Promise<FleetReplica>;
  stop(): Promise<void>;
}

const adminKey = 'the-key-of-the-whole-fleet';

/** Replicas on one database, each with its own disk, as one behind a balancer would be. */
export async function startFleet(size: number, common: Record<string, string> = {}): Promise<Fleet> {
  const db = await createTestDatabase();
  const folders: string[] = [];
  const replicas: FleetReplica[] = [];
  const startOne = async (variables: Record<string, string> = {}): Promise<FleetReplica> => {
    const folder = makeTestFolder();
    folders.push(folder);
    const server = await startServer({
      DATABASE_URL: db.url,
      ADMIN_API_KEY: adminKey,
      SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      TOOLKEEPER_DATA_DIR: folder,
      CUSTOM_TOOLS_DIR: join(folder, 'tools'),
      CUSTOM_TOOLS_START_TIMEOUT: '45000',
      SANDBOX_GRANTABLE_PATHS: `/tmp:${fixtures}`,
      ...common,
      ...variables,
    });
    const http = supertest.agent(server.url).set(bearer(adminKey));
    const replica: FleetReplica = {
      ...server,
      http,
      call: (name, input = {}, headers = {}) =>
        http.post(`/api/v1/tools/${name}/execute`).set(headers).send({ input }),
    };
    replicas.push(replica);
    return replica;
  };
  await startOne();
  await Promise.all(Array.from({ length: size - 1 }, () => startOne()));
  return {
    db,
    replicas,
    join: startOne,
    stop: async () => {
      const running = replicas.filter(({ child }) => child.exitCode === null && child.signalCode === null);
      await Promise.all(running.map((replica) => replica.end('SIGTERM')));
      await db.release();
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Registers the flexible fixture tool at a replica, which all others confirm. */
export async function register(
  { http }: Pick<FleetReplica, 'http'>,
  name: string,
  settings: Record<string, unknown> = {},
): Promise<void> {
  const args = [join(fixtures, 'fixture-tool.mjs')];
  await http
    .post('/api/v1/custom-tools')
    .send({ name, command: 'node', args, description: name, ...settings })
    .expect(201);
}
