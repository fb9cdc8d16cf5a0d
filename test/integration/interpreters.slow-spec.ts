import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: servers whose PATH begins with an interpreter that is closed to tools, or a script; the tools; mock: nothing

const asRoot = process.getuid?.() === 0;
const python = '/usr/bin/python3';
const folder = makeTestFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
const script = at('tool', 'obey.py');
const program = (path: string, text: string): void => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
};
const before = process.env['PATH'] ?? '';
let tk: TestApp | undefined;

beforeAll(async () => {
  mkdirSync(at('tool'));
  copyFileSync(join(__dirname, '..', 'fixtures', 'hostile', 'obey.py'), script);
  program(at('home', 'bin', 'python3'), `#!/bin/sh\nexec ${python} "$@"\n`);
  mkdirSync(at('linked'));
  symlinkSync(at('home', 'bin', 'python3'), at('linked', 'python3'));
  program(at('shim', 'python3'), `#!/bin/sh\nexec ${at('home', 'bin', 'python3')} "$@"\n`);
  program(at('broken', 'python3'), '#!/bin/sh\nexit 3\n');
  chmodSync(at('home'), 0o700);
});
afterEach(async () => {
  process.env['PATH'] = before;
  await tk?.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = async (first: string): Promise<TestApp> => {
  process.env['PATH'] = `${first}:/usr/bin:/bin`;
  return (tk = await startApp({}, { customTools: { reloadIntervalMs: 86_400_000 } }));
};
const tool = { name: 'obey', command: 'python3', args: [script], keepAlive: true };

it.each(['home/bin', 'linked'])(
  'an interpreter in %s that is closed to tools is passed over',
  async (first) => {
    const app = await start(at(first));
    const { body } = await app.http.post('/api/v1/custom-tools').send(tool).expect(201);
    if (asRoot) expect(body.pinnedCommand).toBe(realpathSync(python));
    const { result } = (await app.call('obey', { code: 'R = os.getuid()' }).expect(200)).body;
    expect(result.R).not.toBe(0);
  },
);

it('one that is named by its path is refused, with what opens it', async () => {
  const app = await start('/bin');
  const body = { ...tool, command: at('home', 'bin', 'python3') };
  const answer = await app.http.post('/api/v1/custom-tools').send(body);
  if (!asRoot) return void expect(answer.status).toBe(201);
  expect(answer.status).toBe(400);
  expect(answer.body.errors[0]).toMatchObject({
    pointer: '/command',
    detail: expect.stringContaining(`to allow it: chmod o+x ${at('home')}`),
  });
});

it.each(['shim', 'broken'])(
  'a script of the name (%s) is passed over for the interpreter itself',
  async (first) => {
    const app = await start(at(first));
    const { body } = await app.http.post('/api/v1/custom-tools').send(tool).expect(201);
    expect(body.pinnedCommand).toBe(realpathSync(python));
    await app.call('obey', { code: 'R = 1' }).expect(200, /"status":"success"/);
  },
);
