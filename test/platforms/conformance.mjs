import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startNamesRelay } from './names-relay.mjs';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, MCP's own SDK as a server behind it, HTTP, the suite; mock: nothing

const suite = join(import.meta.dirname, 'node_modules', '.bin', 'conformance');
const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const fixture = join(root, 'test', 'fixtures', 'tools', 'conformance-server.mjs');
/** Scenarios and checks that are expected to fail, with the reason of each. */
const expected = join(import.meta.dirname, 'not-offered.yaml');

describe('the conformance suite of MCP', () => {
  let server;
  let relay;
  before(async () => {
    server = await startPlatformServer({ SANDBOX_GRANTABLE_PATHS: root });
    const { data: own } = await server.ask('tools?limit=500');
    await server.register({
      name: 'fixtures',
      protocol: 'mcp',
      command: 'node',
      args: [fixture],
      workingDir: root,
    });
    relay = await startNamesRelay(
      server.url,
      'fixtures__',
      own.map(({ name }) => name),
    );
  });
  after(async () => {
    relay.closeAllConnections();
    relay.close();
    await server.stop();
  });

  const ask = (...options) =>
    run(process.execPath, [suite, ...options, '--expected-failures', expected], { cwd: server.folder });
  const asServer = (...options) =>
    ask('server', '--url', `http://127.0.0.1:${relay.address().port}/mcp`, ...options);

  for (const revision of ['2025-11-25', '2026-07-28'])
    it(`what the revision ${revision} requires of a server`, () => asServer('--requirements', revision));
});
