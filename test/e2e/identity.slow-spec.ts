import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

// real: all of it, see test/identity

const run = promisify(execFile);

it('oidc-provider signs in the official MCP client, and its bad tokens are refused', async () => {
  const root = join(__dirname, '..', '..');
  const { stdout } = await run(process.execPath, ['test/identity/run.mjs', 'tokens', 'agents', 'facade'], {
    cwd: root,
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined },
  });
  expect(stdout).toMatch(/^ℹ pass \d+$/m);
  expect(stdout).toMatch(/^ℹ fail 0$/m);
});
