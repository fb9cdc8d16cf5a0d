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
import { archiveOf } from '../support/bundle.js';
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

  it('says what may stand before a script, what lets the script in, and which setting lets a variable in', async () => {
    const { body: option } = await register(rooted, 'r', { command: 'bash', args: ['-x', shell] });
    expect(option.detail).toMatch(/only -u, .*Write others into the #! line .*register the tool as a bundle/);
    const { body: outside } = await register(rooted, 'r', {
      command: 'bash',
      args: [join(evil, 'part.sh')],
    });
    // The end is what `toolkeeper doctor` reads.
    expect(outside.detail).toMatch(
      new RegExp(
        `register the tool as a bundle .*to allow it, set CUSTOM_TOOLS_ALLOWED_ROOTS=${root},${evil}$`,
      ),
    );
    const { body: variable } = await register(rooted, 'r', { command: shell, env: { OTHER: 'x' } });
    expect(variable.errors).toEqual([
      { pointer: '/env/OTHER', detail: expect.stringContaining('CUSTOM_TOOLS_ALLOWED_ENV lists') },
    ]);
  });

  it.each([
    ['python3', ['-u', script, '-c', 'x']],
    ['/usr/bin/python3', [script]],
    ['node', ['--no-warnings', '--max-old-space-size=256', '--enable-source-maps', node]],
    ['bash', ['-u', shell]],
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

  it.each([
    ['python3', ['-c', 'x'], 0],
    ['python3', ['-u', '-Bcx'], 1],
    ['python3', ['-m', 'http.server'], 0],
    ['python3', ['-W', 'ignore', script], 0],
    ['python3', ['-'], 0],
    ['node', ['-pe', '1'], 0],
    ['node', ['--no-warnings', '--eval=1', node], 1],
    ['node', ['--import=data:text/javascript,1', node], 0],
    ['node', ['--max-old-space-size=64,--x', node], 0],
    ['bash', ['-uc', 'id'], 0],
    ['bash', ['+o', 'posix', shell], 0],
    ['bash', ['-s'], 0],
    ['bash', ['--rcfile', shell, shell], 0],
    ['sh', [], undefined],
    ['bash', ['-u'], undefined],
  ])(
    'an interpreter takes nothing but harmless options and a script: %s %j',
    async (command, args, index) => {
      const { body: problem } = await register(rooted, 'refused', { command, args }).expect(400);
      expect(problem.errors).toEqual([
        { pointer: index === undefined ? '/args' : `/args/${index}`, detail: expect.any(String) },
      ]);
    },
  );

  it('an interpreter may be given code if there are no roots', async () => {
    const args = ['-u', '-c', pythonTool];
    await register(anywhere, 'carries_code', { command: 'python3', args, description: 'd' }).expect(201);
    await anywhere.call('carries_code').expect(200, /"status":"success"/);
    await anywhere.http.delete(path('carries_code')).expect(204);
  });

  it('a script is no subcommand, whatever its name', async () => {
    copyFileSync(script, join(root, 'run'));
    const { body } = await register(rooted, 'refused', {
      command: 'python3',
      args: ['run'],
      workingDir: root,
      description: 'd',
    }).expect(201);
    expect(body.args).toEqual(['run']);
    await rooted.http.delete(path('refused')).expect(204);
  });

  it('a bundle brings code of its own: the arguments of its interpreter are free, unless no bundle is taken', async () => {
    const own = { ...withRoot, CUSTOM_TOOLS_DIR: join(root, 'tools') };
    const bundle = (command: string): Buffer => {
      const tool = { description: 'd', command, args: ['-W', 'ignore', 'tool.py'] };
      return archiveOf([
        { path: 'tool.json', content: JSON.stringify(tool) },
        { path: 'tool.py', content: pythonTool },
      ]);
    };
    const app = await startApp(own, never);
    try {
      const upload = (name: string, archive: Buffer) =>
        app.http
          .post(`${path(name)}/bundle`)
          .set('content-type', 'application/gzip')
          .send(archive);
      await upload('bundled', bundle('python3')).expect(201);
      await app.call('bundled').expect(200, /"status":"success"/);
      await upload('other', bundle('/usr/bin/env')).expect(400, /CUSTOM_TOOLS_ALLOWED_ROOTS/);
      const closed = await startApp({ ...own, DATABASE_URL: app.db.url, BUNDLE_MAX_BYTES: '0' }, never);
      try {
        const patched = closed.http.patch(path('bundled')).send({ args: ['-c', 'x'] });
        await patched.expect(400, /"pointer":"\/args\/0"/);
      } finally {
        await closed.close();
      }
    } finally {
      await app.close();
    }
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
        // The server before still runs it.
        status: 'active',
        healthStatus: 'degraded',
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
