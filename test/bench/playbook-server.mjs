/** The built server in this process with an echo built-in beside its tools, for benchmarks that call the door itself. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lifecycle } from '../../dist/src/base/common/lifecycle.js';
import { newId } from '../../dist/src/base/common/ids.js';
import { StartupWork } from '../../dist/src/base/common/startup-work.js';
import { loadConfig } from '../../dist/src/base/config/app-config.js';
import { createApp } from '../../dist/src/edge/http/create-app.js';
import { scopes } from '../../dist/src/web/contract/principal.js';
import { Door } from '../../dist/src/call/door/door.js';
import { ToolRegistry } from '../../dist/src/call/door/tool-registry.js';

const principal = { userId: 'bench', scopes: new Set(scopes) };

/** @param adapted the configuration, with other constants if need be */
export async function startPlaybookServer(variables = {}, adapted = (config) => config) {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-bench-'));
  const own = {
    PORT: '0',
    LOG_LEVEL: 'silent',
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: join(folder, 'none'),
  };
  const config = adapted(loadConfig({ ...own, ...variables }));
  const app = await createApp(config);
  await app.listen(config.server.port, config.server.host);
  app.get(Lifecycle).ready();
  await app.get(StartupWork).settled();
  app.get(ToolRegistry).register(echo);
  const door = app.get(Door);
  return {
    url: await app.getUrl(),
    call: (tool, input, labels) =>
      door.call({
        tool,
        input,
        principal,
        context: { userId: 'bench', requestId: newId(), projectId: 'default', labels },
      }),
    close: async () => {
      await app.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Answers its input at once. */
const echo = {
  definition: {
    name: 'bench_echo',
    description: 'Answers its input.',
    kind: 'builtin',
    version: '1.0.0',
    inputSchema: { type: 'object' },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: [],
    timeoutMs: 5_000,
  },
  validate: () => [],
  run: async (input) => input,
};
