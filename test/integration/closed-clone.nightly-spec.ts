import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { built } from '../support/built.js';
import type { Json } from '../support/json.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the project below a folder of mode 0700, what `npm start` starts there, its embedded database, the tools that ship;
// mock: nothing. Who is not root is let into its own folders.

const closed = makeTestFolder();
const clone = join(closed, 'toolkeeper');
const parts = ['dist', 'tools', 'native', 'playbooks', 'migrations', 'package.json'];
let server: ServerProcess | undefined;

beforeAll(() => {
  const root = built();
  mkdirSync(clone, { mode: 0o755 });
  for (const part of parts) cpSync(join(root, part), join(clone, part), { recursive: true });
  const packages = [join(root, 'node_modules'), join(clone, 'node_modules')] as const;
  // Another disk takes no links of files.
  if (spawnSync('cp', ['-al', ...packages]).status !== 0) {
    rmSync(packages[1], { recursive: true, force: true });
    symlinkSync(...packages);
  }
});
afterEach(async () => {
  await server?.end('SIGTERM');
  server = undefined;
});
afterAll(() => rmSync(closed, { recursive: true, force: true }));

const settings = (tier: number) => ({
  SANDBOX_MAX_TIER: String(tier),
  TOOLKEEPER_DATA_DIR: join(clone, '.toolkeeper'),
});
const calls = [
  ['disk_usage', { path: '/' }, { usedPercent: expect.any(Number) }],
  ['json_diff', { before: { a: 1 }, after: { a: 2 } }, expect.anything()],
  ['log_summary', { text: 'ERROR x' }, { levels: { error: 1 } }],
] as const;

it.each([3, 1])(
  'with tier %i at most the server starts there, and its tools once they may be reached',
  async (tier) => {
    chmodSync(closed, 0o700);
    server = await startServer(settings(tier), 120_000, `cd '${clone}'`);
    const ask = async (path: string, body?: object): Promise<Json> => {
      const headers = { 'content-type': 'application/json' };
      const init = body && {
        method: 'POST',
        headers: { ...headers, ...server?.key },
        body: JSON.stringify(body),
      };
      return (await fetch(`${server?.url}/api/v1/${path}`, init)).json();
    };
    const asRoot = process.getuid?.() === 0;
    if (asRoot) {
      for (const [name, input] of calls) {
        // A tool that is stored says so once it was tried.
        const why = async (): Promise<string> => String((await ask(`custom-tools/${name}`)).errorMessage);
        const isSaid = async (): Promise<boolean> =>
          (await why()).includes(`to allow it: chmod o+x ${closed}`);
        await until(isSaid, { what: `the reason why ${name} does not run` });
        expect((await ask(`tools/${name}/execute`, { input })).code).toBe('tool_unavailable');
      }
      chmodSync(closed, 0o711);
      for (const [name] of calls) await ask(`custom-tools/${name}/enable`, {});
    }
    for (const [name, input, result] of calls) {
      expect(await ask(`tools/${name}/execute`, { input })).toMatchObject({ status: 'success', result });
      const { status, effectiveSandbox } = await ask(`custom-tools/${name}`);
      expect(status).toBe('active');
      expect(effectiveSandbox.runsAs.uid === 0).toBe(false);
    }
  },
);
