import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { launchServer, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the built server as processes with their embedded PostgreSQL; mock: nothing

jest.setTimeout(300_000);
const folder = makeTestFolder();
const settings = { TOOLKEEPER_DATA_DIR: folder, CUSTOM_TOOLS_DIR: join(folder, 'none') };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a port that is taken is found before the database starts, and told in one line', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { child, log } = launchServer({ ...settings, PORT: String(port) });
  await until(() => child.exitCode !== null, { what: 'the end of the server' });
  taken.close();
  expect([child.exitCode, log()]).toEqual([
    1,
    `The server cannot listen on 127.0.0.1:${port}: another program listens there. Set PORT or HOST to another one.\n`,
  ]);
  expect(readdirSync(folder)).toEqual([]);
});

it('a start says little, and a stop right after it reports no error', async () => {
  for (const what of ['ready: ', 'listening on ']) {
    const { child, log } = launchServer(settings);
    await until(() => log().includes(what), { what, timeoutMs: 110_000 });
    child.kill('SIGTERM');
    await until(() => child.exitCode !== null, { what: 'the end of the server' });
    const lines = log().trim().split('\n');
    expect([child.exitCode, lines.filter((line) => !/"level":"(info|warn)"/.test(line))]).toEqual([0, []]);
    expect(lines.filter((line) => /Mapped|dependencies initialized/.test(line))).toEqual([]);
    expect(existsSync(join(folder, 'postgres/data/postmaster.pid'))).toBe(false);
  }
});

it('a second server on a data directory that is in use ends with one sentence', async () => {
  const first = await startServer(settings, 110_000);
  try {
    const { child, log } = launchServer(settings);
    await until(() => child.exitCode !== null, { what: 'the end of the second one', timeoutMs: 110_000 });
    const told = log()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('{'));
    expect([child.exitCode, told]).toEqual([
      1,
      [expect.stringMatching(/^The journal of executions in \S+ belongs to another running gateway: .*DIR$/)],
    ]);
    expect((await fetch(`${first.url}/livez`)).status).toBe(200);
  } finally {
    await first.end('SIGTERM');
  }
});
