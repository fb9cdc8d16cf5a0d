import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server as a client of the suite's servers, HTTP; mock: nothing

const here = (name) => join(import.meta.dirname, name);
const run = promisify(execFile);

describe('the conformance suite of MCP, with the server as a client', () => {
  let server;
  before(async () => (server = await startPlatformServer()));
  after(() => server.stop());

  for (const revision of ['2025-11-25', '2026-07-28'])
    it(`what the revision ${revision} requires of a client`, async () => {
      const command = `${process.execPath} ${here('conformance-wrapper.mjs')}`;
      const expected = ['--expected-failures', here('client-not-offered.yaml')];
      // The suite runs all its scenarios at once.
      const which = ['--requirements', revision, ...expected, '--timeout', '120000'];
      const [, key] = server.key.authorization.split(' ');
      await run(
        process.execPath,
        [here('node_modules/.bin/conformance'), 'client', '--command', command, ...which],
        {
          cwd: server.folder,
          env: { ...process.env, TOOLKEEPER_URL: server.url, TOOLKEEPER_API_KEY: key },
          maxBuffer: 64e6,
        },
      );
    });
});
