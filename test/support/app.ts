import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type TestAgent from 'supertest/lib/agent.js';
import { Lifecycle } from '../../src/base/common/lifecycle.js';
import { StartupWork } from '../../src/base/common/startup-work.js';
import { closeApp } from '../../src/edge/http/lifecycle.module.js';
import { createApp } from '../../src/edge/http/create-app.js';
import { adminKeyOf, bearer } from './admin-key.js';
import { type ConfigChanges, configWith } from './config.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { supertest, type Test } from './http.js';
import { noPlaybooks } from './playbooks-dir.js';
import { makeTestFolder } from './test-folder.js';
import { until } from './wait.js';

export const fixtures = join(__dirname, '..', 'fixtures', 'tools');

export interface TestApp {
  readonly app: NestFastifyApplication;
  readonly db: TestDatabase;
  readonly url: string;
  /** Speaks real HTTP to the listening server, and shows the admin key. */
  readonly http: TestAgent;
  /** The same without a key. */
  readonly anonymous: TestAgent;
  /** The header that shows the admin key, for requests of another kind. */
  readonly key: { readonly authorization: string };
  /** Registers the flexible fixture tool under a name. */
  register(name: string, settings?: Record<string, unknown>): Promise<void>;
  call(name: string, input?: unknown, context?: Record<string, unknown>): Test;
  close(): Promise<void>;
}

/** The whole server on a free port with a database of its own; examples and playbooks are left out unless asked for. */
export async function startApp(
  variables: Record<string, string> = {},
  changes: ConfigChanges = {},
): Promise<TestApp> {
  const tk = await openApp(variables, changes);
  tk.app.get(Lifecycle).ready();
  const work = tk.app.get(StartupWork);
  await work.settled();
  // Tools are loaded after that.
  const isLoaded = (): boolean => /^loaded (\d+) of \1 /.test(work.progress?.() ?? 'loaded 0 of 0 ');
  await until(isLoaded, { what: 'all tools to be loaded', timeoutMs: 60_000 });
  return tk;
}

/** The same as soon as it listens: it does not say yet that it is ready, and the work of its start goes on. */
export async function openApp(
  variables: Record<string, string> = {},
  changes: ConfigChanges = {},
): Promise<TestApp> {
  const db = await createTestDatabase();
  const [folder, tools] = [makeTestFolder(), makeTestFolder()];
  const own = {
    PORT: '0',
    LOG_LEVEL: 'silent',
    DATABASE_URL: db.url,
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: tools,
    PLAYBOOKS_DIR: noPlaybooks,
    // Folders of tests stand there, and their tools.
    SANDBOX_GRANTABLE_PATHS: `${tmpdir()}:${fixtures}`,
    // Two cores that others use, too, may take seconds to start one tool.
    CUSTOM_TOOLS_START_TIMEOUT: '45000',
  };
  const config = configWith({ ...own, ...variables }, changes);
  const app = await createApp(config);
  await app.listen(config.server.port, config.server.host);
  const url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
  const key = bearer(adminKeyOf(config));
  const http = supertest.agent(url).set(key);
  return {
    app,
    db,
    url,
    http,
    anonymous: supertest(url),
    key,
    register: async (name, settings = {}) => {
      await http
        .post('/api/v1/custom-tools')
        .send({
          name,
          command: 'node',
          args: [join(fixtures, 'fixture-tool.mjs')],
          description: name,
          ...settings,
        })
        .expect(201);
    },
    call: (name, input = {}, context) => http.post(`/api/v1/tools/${name}/execute`).send({ input, context }),
    close: async () => {
      await closeApp(app);
      await db.release();
      for (const each of [folder, tools]) rmSync(each, { recursive: true, force: true });
    },
  };
}
