import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server as a client of the suite's servers, HTTP; mock: the browser is one of ours

const here = (name) => join(import.meta.dirname, name);
const run = promisify(execFile);
/** Of the client's metadata document that the suite knows. */
const publicUrl = 'https://conformance-test.local';
/** @returns ports that are free */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

describe('the conformance suite of MCP, with the server as a client', () => {
  let server;
  let ports;
  before(async () => {
    // All scenarios of a list listen at the same time, each with up to three servers.
    ports = await freePorts(128);
    const OUTBOUND_ALLOW = ports.map((port) => `localhost:${port}`).join(',');
    server = await startPlatformServer({ PUBLIC_URL: publicUrl, OUTBOUND_ALLOW });
  });
  after(() => server.stop());

  /** Prints the summary. It fails if anything fails that is not expected to, or passes that is. */
  async function ask(...which) {
    const suite = ['--import', here('suite-ports.mjs'), here('node_modules/.bin/conformance'), 'client'];
    // The suite runs all its scenarios at once. One after the other they keep the time limits of sessions on a busy machine, too.
    const lock = join(server.folder, 'scenario.lock');
    const command = ['--command', `flock ${lock} ${process.execPath} ${here('conformance-wrapper.mjs')}`];
    const [, key] = server.key.authorization.split(' ');
    const env = {
      ...process.env,
      SUITE_PORTS: ports.join(' '),
      TOOLKEEPER_URL: server.url,
      TOOLKEEPER_PUBLIC_URL: publicUrl,
      TOOLKEEPER_API_KEY: key,
    };
    const asked = [...suite, ...command, ...which, '--timeout', '300000'];
    const ended = run(process.execPath, asked, { cwd: server.folder, env, maxBuffer: 64e6 });
    const { stdout } = await ended.catch((error) => {
      throw new Error(error.stdout.slice(-8_000));
    });
    console.log(stdout.slice(stdout.search(/=== SUITE|Test Results/)));
  }

  for (const revision of ['2025-11-25', '2026-07-28'])
    it(`what the revision ${revision} requires of a client`, () => ask('--requirements', revision));

  const expected = ['--expected-failures', here('client-not-offered.yaml')];
  it('what extensions require', () => ask('--suite', 'extensions', ...expected));
  it('sign-ins of 2025-03-26', () => ask('--suite', 'backcompat', ...expected));
  // A frozen list runs it at most to report it.
  it('what came after the revision 2026-07-28', () =>
    ask('--scenario', 'json-schema-2020-12-preservation', '--spec-version', '2026-07-28'));
});
