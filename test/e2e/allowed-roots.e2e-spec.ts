import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  hasCompiler,
  opensslConfig,
  otherBytecode,
  otherHome,
  otherLibrary,
  touching,
} from '../fixtures/outside-code.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: two servers, one that allows commands from anywhere (the control) and one with a root; files, interpreters,
// the tools' processes; mock: nothing

const folder = realpathSync(makeTestFolder());
const [root, evil] = [join(folder, 'root'), join(folder, 'evil')];
/** Made by code that lies outside of the root. */
const ran = join(evil, 'ran');
const pythonTool = `
import colorsys, json, sys
for line in sys.stdin:
    result = {'name': 't', 'description': 'd', 'inputSchema': {}}
    print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'result': result}), flush=True)
`;
const bashTool = (before = ''): string => `${before}
while IFS= read -r line; do
  id=\${line#*'"id":"'}
  printf '{"jsonrpc":"2.0","id":"%s","result":{"name":"t","description":"d","inputSchema":{}}}\\n' "\${id%%'"'*}"
done
`;

function program(path: string, text: string): string {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

mkdirSync(root);
mkdirSync(evil);
const script = program(join(root, 'tool.py'), pythonTool);
const shell = program(join(root, 'tool.sh'), bashTool());
copyFileSync(join(fixtures, 'fixture-tool.mjs'), join(root, 'tool.mjs'));
const node = join(root, 'tool.mjs');
const byPath = program(join(root, 'by-path'), `#!/usr/bin/env python3\n${pythonTool}`);
program(join(evil, 'python3'), `#!/bin/sh\n: >'${ran}'\n`);
const sources = program(join(root, 'sources.sh'), bashTool('. "$(dirname "$0")/part.sh"'));
writeFileSync(join(root, 'part.sh'), '');
writeFileSync(join(evil, 'part.sh'), `: >'${ran}'`);
symlinkSync(sources, join(evil, 'link.sh'));
writeFileSync(
  join(evil, 'module.mjs'),
  `import { writeFileSync } from 'node:fs'; writeFileSync('${ran}', '');`,
);
writeFileSync(join(evil, 'bash.env'), `: >'${ran}'`);
mkdirSync(join(evil, 'modules'));
writeFileSync(join(evil, 'modules', 'colorsys.py'), touching(ran));
const trace = { PS4: `$(: >'${ran}')` };
const evilCache = otherBytecode(evil, ran);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `runs`: whether this host's interpreter runs the code outside where nothing keeps it from that. */
const tries: readonly [what: string, body: object, pointer: string, runs: boolean][] = [
  [
    'compiled modules, by a variable',
    { command: 'python3', args: [script], env: { PYTHONPYCACHEPREFIX: evilCache } },
    '/env/PYTHONPYCACHEPREFIX',
    true,
  ],
  [
    'compiled modules, by an option',
    { command: 'python3', args: ['-X', `pycache_prefix=${evilCache}`, script] },
    '/args/0',
    true,
  ],
  [
    'the library',
    { command: 'python3', args: [script], env: { PYTHONPLATLIBDIR: otherLibrary(evil, ran) } },
    '/env/PYTHONPLATLIBDIR',
    true,
  ],
  [
    'packages of the user',
    { command: 'python3', args: [script], env: { HOME: otherHome(evil, ran) } },
    '/env/HOME',
    true,
  ],
  [
    'modules',
    { command: 'python3', args: [script], env: { TOOL_A: 'a', PYTHONPATH: join(evil, 'modules') } },
    '/env/PYTHONPATH',
    true,
  ],
  [
    'a provider of OpenSSL',
    { command: 'node', args: [node], env: { OPENSSL_CONF: opensslConfig(evil, ran) } },
    '/env/OPENSSL_CONF',
    hasCompiler,
  ],
  [
    'a reporter of tests',
    { command: 'node', args: [`--test-reporter=${evil}/module.mjs`, '--test', node] },
    '/args/0',
    true,
  ],
  [
    'a module before the script',
    { command: 'node', args: ['--import', `${evil}/module.mjs`, node] },
    '/args/0',
    true,
  ],
  [
    'a module, by a variable',
    { command: 'node', args: [node], env: { NODE_OPTIONS: `--import=${evil}/module.mjs` } },
    '/env/NODE_OPTIONS',
    true,
  ],
  ['what traces', { command: 'bash', args: ['-x', shell], env: trace }, '/env/PS4', true],
  [
    'what traces, by a variable',
    { command: 'bash', args: [shell], env: { SHELLOPTS: 'xtrace', ...trace } },
    '/env/SHELLOPTS',
    true,
  ],
  ['a trace', { command: 'bash', args: ['-x', shell] }, '/args/0', false],
  [
    'what a shell reads first',
    { command: 'bash', args: [shell], env: { BASH_ENV: join(evil, 'bash.env') } },
    '/env/BASH_ENV',
    true,
  ],
  [
    'the interpreter of a script',
    { command: byPath, env: { PATH: `${evil}:/usr/bin:/bin` } },
    '/env/PATH',
    true,
  ],
  [
    'what lies beside a link to the script',
    { command: 'bash', args: [join(evil, 'link.sh')] },
    '/args/0',
    true,
  ],
  [
    'a variable of the server',
    { command: 'bash', args: [shell], permissions: { allowedEnvironmentVars: ['TZ', 'PYTHONSTARTUP'] } },
    '/permissions/allowedEnvironmentVars/1',
    false,
  ],
];

describe('code outside of CUSTOM_TOOLS_ALLOWED_ROOTS', () => {
  const own = {
    SANDBOX: 'off',
    SECRETS_KEY: randomBytes(32).toString('hex'),
  };
  /** Looks at files and at the other server. */
  const never = { customTools: { reloadIntervalMs: 86_400_000 } };
  const withRoot = { ...own, CUSTOM_TOOLS_ALLOWED_ROOTS: root, CUSTOM_TOOLS_ALLOWED_ENV: 'DB_*,API_KEY' };
  let anywhere: TestApp;
  let rooted: TestApp;
  const register = (app: TestApp, name: string, body: object) =>
    app.http.post('/api/v1/custom-tools').send({ name, ...body });
  const path = (name: string): string => `/api/v1/custom-tools/${name}`;

  beforeAll(async () => {
    anywhere = await startApp(own, never);
    rooted = await startApp(withRoot, never);
  });
  afterAll(async () => {
    await rooted.close();
    await anywhere.close();
  });
  beforeEach(() => rmSync(ran, { force: true }));
  // What should have been refused must not take the next one's name.
  afterEach(() => rooted.http.delete(path('refused')).then());

  it.each(tries)(
    'runs where nothing forbids it, and is refused with a root: %s',
    async (_what, body, pointer, runs) => {
      await register(anywhere, 'control', body);
      await anywhere.http.delete(path('control'));
      expect(existsSync(ran)).toBe(runs);
      rmSync(ran, { force: true });
      const { body: problem } = await register(rooted, 'refused', body).expect(400);
      expect(problem.errors).toEqual([
        { pointer, detail: expect.stringMatching(/CUSTOM_TOOLS_ALLOWED_ROOTS|of this server's environment/) },
      ]);
      expect(existsSync(ran)).toBe(false);
    },
  );

  it('says what may stand before a script, and which setting lets a variable in', async () => {
    const { body: option } = await register(rooted, 'r', { command: 'bash', args: ['-x', shell] });
    expect(option.detail).toContain('may stand: -e, -f, -u, -o errexit');
    const { body: variable } = await register(rooted, 'r', { command: shell, env: { OTHER: 'x' } });
    expect(variable.errors).toEqual([
      { pointer: '/env/OTHER', detail: expect.stringContaining('CUSTOM_TOOLS_ALLOWED_ENV lists') },
    ]);
  });

  it.each([
    ['python3', ['-u', '-W', 'ignore', script, '-c', 'x']],
    ['node', ['--no-warnings', '--max-old-space-size=256', node]],
    ['bash', ['-euo', 'pipefail', shell]],
    [shell, ['-x', '--anything']],
    [byPath, []],
  ])('from below a root runs with harmless options and listed variables: %s %j', async (command, args) => {
    const env = {
      TOOL_MODE: 'fast',
      LANG: 'C.UTF-8',
      LC_ALL: 'C.UTF-8',
      TZ: 'UTC',
      DB_HOST: 'h',
      API_KEY: 'k',
    };
    await register(rooted, 'allowed', { command, args, description: 'd', env }).expect(201);
    await rooted.call('allowed').expect(200, /"status":"success"/);
    await rooted.http.delete(path('allowed')).expect(204);
  });

  it('is not started of a tool that was stored before there was a root: its status says why', async () => {
    const bad = { command: 'python3', args: [script], env: { PYTHONPYCACHEPREFIX: evilCache } };
    await register(anywhere, 'stored_bad', bad).expect(201);
    await register(anywhere, 'stored_good', { command: 'python3', args: [script] }).expect(201);
    rmSync(ran, { force: true });
    const next = await startApp({ ...withRoot, DATABASE_URL: anywhere.db.url }, never);
    try {
      const { body } = await next.http.get(path('stored_bad')).expect(200);
      expect(body).toMatchObject({
        status: 'error',
        errorMessage: expect.stringMatching(/env\/PYTHONPYCACHEPREFIX .*CUSTOM_TOOLS_ALLOWED_ROOTS/),
      });
      await next.call('stored_bad').expect(503, /"code":"tool_unavailable"/);
      await next.call('stored_good').expect(200, /"status":"success"/);
      expect(existsSync(ran)).toBe(false);
    } finally {
      await next.close();
    }
  });
});
