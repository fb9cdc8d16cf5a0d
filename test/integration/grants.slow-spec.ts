import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/common/project.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the server, its sandbox of every tier that this host has, a tool that runs what it is told, links, mounts, users;
// mock: nothing

const gateway = process.getuid?.() ?? -1;
const asRoot = gateway === 0;
const obey = join(__dirname, '..', 'fixtures', 'hostile', 'obey.py');
const folder = makeTestFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
const script = at('tool', 'obey.py');
const tiers = spawnSync('bwrap', ['--version']).status === 0 ? [0, 1, 2] : [0, 1];
/** Only a real root mounts. */
const mounts = spawnSync('sh', [
  '-c',
  `mkdir -p ${at('granted', 'mounted')}; mount -t proc none ${at('granted', 'mounted')}`,
]);
const isMounted = mounts.status === 0;

beforeAll(() => {
  for (const each of ['tool', 'granted/inner', 'outside', 'tools/installed'])
    mkdirSync(at(each), { recursive: true });
  copyFileSync(obey, script);
  writeFileSync(at('granted', 'file'), 'granted');
  writeFileSync(at('outside', 'file'), 'a secret');
  const links = {
    proc: '/proc',
    dev: '/dev',
    sys: '/sys',
    etc: '/etc',
    outside: at('outside'),
    inner: at('granted', 'inner'),
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, at('granted', `to-${name}`));
  symlinkSync(at('granted', 'to-etc'), at('granted', 'to-link'));
});
afterAll(() => {
  if (isMounted) spawnSync('umount', [at('granted', 'mounted')]);
  rmSync(folder, { recursive: true, force: true });
});

const tool = (name: string, allowedPaths: string[], write = false): Json => ({
  name,
  command: '/usr/bin/python3',
  args: [script],
  keepAlive: true,
  sandbox: { allowedPaths },
  permissions: { canWriteFiles: write },
});
const kernel = 'an interface of the kernel';
const setting = (path: string): string => `to allow it, set SANDBOX_GRANTABLE_PATHS=${at('granted')},${path}`;
const ours = 'belongs to this server: no tool may write there';

type Refused = readonly [what: string, paths: () => string[], write: boolean, why: () => string];
const refused: readonly Refused[] = [
  ['a folder of the system', () => ['/etc'], false, () => setting('/etc')],
  ['the same for writing', () => ['/etc'], true, () => setting('/etc')],
  ['a file', () => ['/etc/passwd'], false, () => setting('/etc/passwd')],
  ['another folder, by a relative path', () => ['../outside'], false, () => setting(at('outside'))],
  ['another folder, by dots', () => [at('granted', '..', 'outside')], false, () => setting(at('outside'))],
  ['a folder around that of tools', () => [at('tools')], false, () => setting(at('tools'))],
  ['a name that begins like a granted one', () => [at('granted-too')], false, () => 'does not exist'],
  ['a link to another folder', () => [at('granted', 'to-outside')], false, () => setting(at('outside'))],
  [
    'a file behind a link',
    () => [at('granted', 'to-outside', 'file')],
    false,
    () => setting(at('outside', 'file')),
  ],
  ['a link to a link', () => [at('granted', 'to-link')], true, () => setting('/etc')],
  ['processes', () => ['/proc'], false, () => kernel],
  ['one process', () => ['/proc/self'], false, () => kernel],
  ['processes, by a link', () => [at('granted', 'to-proc')], true, () => kernel],
  [
    'a setting of the kernel, by a link',
    () => [at('granted', 'to-proc', 'sys', 'kernel')],
    true,
    () => kernel,
  ],
  ['devices, by a link', () => [at('granted', 'to-dev')], true, () => kernel],
  ['a device', () => ['/dev/null'], true, () => kernel],
  ['memory of the host', () => ['/dev/shm'], true, () => kernel],
  ['the hardware, by a link', () => [at('granted', 'to-sys')], false, () => kernel],
  ['control groups', () => ['/sys/fs/cgroup'], true, () => kernel],
  ["the server's program", () => [projectRoot()], true, () => setting(projectRoot())],
  ['the folder of tools', () => [at('tools', 'installed')], true, () => setting(at('tools', 'installed'))],
  ...(isMounted
    ? ([
        ['processes that are mounted elsewhere', () => [at('granted', 'mounted')], false, () => kernel],
        [
          'a folder around them',
          () => [at('granted')],
          false,
          () => `holds ${at('granted', 'mounted')}, ${kernel}`,
        ],
      ] as const)
    : []),
];

describe.each([
  ...tiers.map((tier) => [`tier ${tier} at most`, { SANDBOX_MAX_TIER: String(tier) }] as const),
  ['no sandbox', { SANDBOX: 'off' }] as const,
])('with %s', (_what, variables) => {
  let tk: TestApp;
  beforeAll(async () => {
    tk = await startApp({
      SANDBOX: 'best-effort',
      SANDBOX_GRANTABLE_PATHS: at('granted'),
      CUSTOM_TOOLS_DIR: at('tools', 'installed'),
      ...variables,
    });
  });
  afterAll(() => tk.close());
  const register = (body: Json) => tk.http.post('/api/v1/custom-tools').send(body);
  const run = async (name: string, code: string): Promise<Json> =>
    (await tk.call(name, { code }).expect(200)).body.result;

  it.each(refused)('%s is refused, with the line that allows it', async (_which, paths, write, why) => {
    const { body } = await register(tool('greedy', paths(), write)).expect(422);
    expect(body).toMatchObject({ code: 'invalid_request' });
    expect(body.errors).toEqual([
      { pointer: '/sandbox/allowedPaths/0', detail: expect.stringContaining(why()) },
    ]);
  });

  it('the refused path is named by its index, in a change and in a dry run as well', async () => {
    const { body } = await register(tool('second', [at('granted', 'inner'), '/etc'])).expect(422);
    expect(body.errors[0].pointer).toBe('/sandbox/allowedPaths/1');
    await register(tool('changed', [])).expect(201);
    const patch = { sandbox: { allowedPaths: ['/etc'] } };
    await tk.http
      .patch('/api/v1/custom-tools/changed')
      .send(patch)
      .expect(422, /allowedPaths\/0/);
    await tk.http
      .post('/api/v1/custom-tools/try')
      .send(tool('tried', ['/etc']))
      .expect(422, /allowedPaths\/0/);
    await tk.http.delete('/api/v1/custom-tools/changed').expect(204);
  });

  it('a folder that the operator lists is read and written, its own as well', async () => {
    await register(tool('granted', [at('granted', 'to-inner'), at('granted', 'file'), '.'], true)).expect(
      201,
    );
    const code = `
open("${at('granted', 'inner', 'made')}", "w").write("x")
open("${at('tool', 'made')}", "w").write("x")
R = open("${at('granted', 'file')}").read()`;
    expect(await run('granted', code)).toEqual({ R: 'granted' });
    for (const made of [at('granted', 'inner', 'made'), at('tool', 'made')]) {
      expect(existsSync(made)).toBe(true);
      rmSync(made);
    }
    await tk.http.delete('/api/v1/custom-tools/granted').expect(204);
  });

  it('no tool is root', async () => {
    await register(tool('plain', [])).expect(201);
    const { uid } = (await tk.http.get('/api/v1/custom-tools/plain')).body.effectiveSandbox.runsAs;
    expect(await run('plain', 'R = [os.getuid(), os.geteuid(), os.getgid()]')).toEqual({
      R: [uid, uid, asRoot ? uid : process.getgid?.()],
    });
    expect(uid === 0).toBe(false);
    expect(uid === gateway).toBe(!asRoot);
    await tk.http.delete('/api/v1/custom-tools/plain').expect(204);
  });

  it('permissions that open nothing say so', async () => {
    const permissions = { canReadFiles: true, canWriteFiles: true };
    const { body } = await register({ ...tool('idle', []), sandbox: {}, permissions }).expect(201);
    const { enforced, notes } = body.effectiveSandbox;
    for (const field of ['canReadFiles', 'canWriteFiles'])
      if (enforced.includes(field)) expect(notes[field]).toContain('opens nothing by itself');
    await tk.http.delete('/api/v1/custom-tools/idle').expect(204);
  });
});

it('what belongs to the server is written by no tool, whatever the operator lists', async () => {
  const tk = await startApp({
    SANDBOX_GRANTABLE_PATHS: `${projectRoot()}:${tmpdir()}`,
    CUSTOM_TOOLS_DIR: at('tools', 'installed'),
  });
  try {
    const installed = at('tools', 'installed', 'mine');
    mkdirSync(installed, { recursive: true });
    copyFileSync(obey, join(installed, 'obey.py'));
    for (const [path, name] of [
      [projectRoot(), 'project'],
      [join(projectRoot(), 'dist'), 'dist'],
      [at('tools', 'installed'), 'tools'],
      [at('tools'), 'above'],
      [installed, 'own'],
    ] as const) {
      const body = {
        ...tool(name, [path], true),
        ...(name === 'own' && { args: [join(installed, 'obey.py')] }),
      };
      const { errors } = (await tk.http.post('/api/v1/custom-tools').send(body).expect(422)).body;
      expect(errors).toEqual([{ pointer: '/sandbox/allowedPaths/0', detail: expect.stringContaining(ours) }]);
      await tk.http
        .post('/api/v1/custom-tools')
        .send({ ...body, permissions: {} })
        .expect(201);
    }
  } finally {
    await tk.close();
  }
});

it('a grant that is closed to the user of the tool is refused, with the way to open it', async () => {
  const tk = await startApp({ SANDBOX_GRANTABLE_PATHS: `/etc,${tmpdir()}` });
  try {
    const { status, body } = await tk.http.post('/api/v1/custom-tools').send(tool('writer', ['/etc'], true));
    if (asRoot) {
      expect(status).toBe(422);
      expect(body.errors[0]).toEqual({
        pointer: '/sandbox/allowedPaths/0',
        detail: expect.stringMatching(
          /^\/etc may not be written by user \d+, .*to allow it: chmod o\+rwx \/etc$/,
        ),
      });
    } else expect(status).toBe(201);
    await tk.register('reader', tool('reader', ['/etc']));
    const { result } = (await tk.call('reader', { code: 'R = len(open("/etc/passwd").read())' })).body;
    expect(result).toEqual({ R: readFileSync('/etc/passwd', 'utf8').length });
    const shadow = (await tk.call('reader', { code: 'open("/etc/shadow")' })).body;
    expect(shadow.result).toEqual({ refused: 'Permission denied' });
  } finally {
    await tk.close();
  }
});

it('a link that a tool makes leads another one nowhere', async () => {
  const tk = await startApp({ SANDBOX_GRANTABLE_PATHS: tmpdir(), SANDBOX_MAX_TIER: '1' });
  try {
    await tk.register('maker', tool('maker', []));
    for (const target of ['/proc', '/dev', '/sys']) {
      const code = `p = os.environ["TMPDIR"] + "/l"; os.path.lexists(p) and os.unlink(p); os.symlink("${target}", p); R = p`;
      const { R: link } = (await tk.call('maker', { code }).expect(200)).body.result;
      await tk.http
        .post('/api/v1/custom-tools')
        .send(tool('taker', [link], true))
        .expect(422, new RegExp(kernel));
    }
  } finally {
    await tk.close();
  }
});
