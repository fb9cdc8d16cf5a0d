import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the server, its sandbox of every tier that this host has, a tool that lacks a grant, git; mock: nothing

const folder = makeTestFolder();
const script = join(folder, 'tool', 'lacking.py');
beforeAll(() => {
  mkdirSync(join(folder, 'tool'));
  copyFileSync(join(__dirname, '..', 'fixtures', 'hostile', 'lacking.py'), script);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const network = /This tool has no network: sandbox.allowNetwork/;
const path = /sandbox.allowedPaths, with permissions.canWriteFiles, grants more/;
const failing: readonly (readonly [string, Json, RegExp])[] = [
  ['a name', { code: 'import socket; socket.getaddrinfo("example.invalid", 80)' }, network],
  ['a web page', { code: 'import urllib.request as u; u.urlopen("http://example.invalid/")' }, network],
  ['an error of Node', { error: 'getaddrinfo EAI_AGAIN example.invalid' }, network],
  ['an error of curl', { error: 'curl: (6) Could not resolve host: example.invalid' }, network],
  ['a file of somebody else', { code: 'open("/etc/shadow")' }, path],
  ['a place to write', { code: 'open("/usr/made", "w")' }, path],
  ['an error of Node about a file', { error: "EACCES: permission denied, open '/etc/x'" }, path],
  ['a crash that says so', { crash: "PermissionError: [Errno 13] Permission denied: '/etc/x'" }, path],
];

describe.each(spawnSync('bwrap', ['--version']).status === 0 ? [1, 2] : [1])(
  'with tier %i at most',
  (tier) => {
    let tk: TestApp;
    beforeAll(async () => {
      tk = await startApp({
        SANDBOX_MAX_TIER: String(tier),
        SANDBOX: 'best-effort',
        CIRCUIT_FAILURES: '1000',
      });
      await tk.register('lacking', { command: '/usr/bin/python3', args: [script] });
      await tk.register('networked', {
        command: '/usr/bin/python3',
        args: [script],
        sandbox: { allowNetwork: true },
      });
    });
    afterAll(() => tk.close());

    it.each(failing)('%s that is missing is named', async (_what, input, hint) => {
      const { body } = await tk.call('lacking', input).expect(200);
      // Nothing stands at the path in tier 2: that is no matter of grants.
      if (tier === 2 && /No such file/.test(body.error.message)) return;
      expect(body.error.message).toMatch(hint);
    });

    it('a tool with a network gets no advice to ask for one, nor does another error', async () => {
      const { body } = await tk.call('networked', { error: 'getaddrinfo EAI_AGAIN x' }).expect(200);
      expect(body.error.message).toBe('getaddrinfo EAI_AGAIN x');
      const plain = await tk.call('lacking', { error: 'wrong number' }).expect(200);
      expect(plain.body.error.message).toBe('wrong number');
    });

    it('one that cannot start without is refused with the hint', async () => {
      const tool = { name: 'x', command: '/usr/bin/python3', args: [script, 'EAI_AGAIN'], description: 'x' };
      const { body } = await tk.http.post('/api/v1/custom-tools').send(tool).expect(400);
      expect(body.detail).toMatch(network);
    });

    it('git works where the host has settings for all', async () => {
      const { body } = await tk.call('lacking', { git: true }).expect(200);
      expect(body.result).toMatchObject({ status: 0 });
    });
  },
);
