import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';

const folder = makeTestFolder();
let tk: TestApp;
let count = 0;

beforeAll(async () => {
  // A sandbox shows a tool its own folder.
  copyFileSync(join(fixtures, 'says.mjs'), join(folder, 'says.mjs'));
  tk = await startApp();
});

afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Registers an executable that answers `initialize` so. @param settings of the registration itself */
function register(said: string, settings: object = {}) {
  const name = `says_${++count}`;
  writeFileSync(join(folder, name), said);
  const command = { command: 'node', args: ['says.mjs', name], workingDir: folder };
  return tk.http.post('/api/v1/custom-tools').send({ name, ...command, ...settings });
}

const good = { description: 'Says what it says', version: '1.0.0', inputSchema: { type: 'object' } };
const saying = (change: object): string => JSON.stringify({ ...good, ...change });
const long = (length: number): string => 'x'.repeat(length);

describe('what an executable says of itself', () => {
  it.each([
    ['description', { description: long(4_097) }, '4096 characters'],
    ['description', { description: long(3_000_000) }, '4096 characters'],
    ['description', { description: 'half \ud800' }, 'NUL'],
    ['version', { version: long(65) }, '64 characters'],
    ['version', { version: long(1_000_000) }, '64 characters'],
    ['maxConcurrency', { maxConcurrency: 1_001 }, '1000'],
    ['maxConcurrency', { maxConcurrency: 1e9 }, '1000'],
    ['maxConcurrency', { maxConcurrency: 1e10 }, '1000'],
    ['inputSchema/title', { inputSchema: { title: 'nul \0' } }, 'NUL'],
  ])('is refused as its registration would be: %s', async (field, change, limit) => {
    const { body } = await register(saying(change)).expect(400);
    expect(body).toMatchObject({ code: 'invalid_request' });
    expect(body.errors).toEqual([
      { pointer: `/${field}`, detail: expect.stringMatching(/as the executable gives it in initialize/) },
    ]);
    expect(body.detail).toContain(limit);
  });

  it.each([
    ['too many bytes', { inputSchema: { title: long(70_000) } }, 'the cap is 65536'],
    ['levels without end', { inputSchema: nested(40) }, 'deeper than 32 levels'],
    ['an unknown type', { inputSchema: { type: 'strnig' } }, 'not a valid JSON Schema'],
    ['a reference elsewhere', { inputSchema: { $ref: 'http://127.0.0.1:1/s' } }, 'not a valid JSON Schema'],
    ['itself alone', { inputSchema: { $ref: '#' } }, 'for ever'],
    ['no object', { inputSchema: 7 }, 'is needed'],
    ['a list', { inputSchema: [] }, 'is needed'],
    ['nothing', { inputSchema: undefined }, 'is needed'],
  ])('is refused where its schema is wrong: %s', async (_what, change, reason) => {
    const { body } = await register(saying(change)).expect(400);
    expect(body.errors).toEqual([{ pointer: '/inputSchema', detail: expect.stringContaining(reason) }]);
  });

  it.each([
    ['nothing', 'null'],
    ['text', '"me"'],
    ['a list', '[]'],
    ['a version of the protocol that nobody speaks', saying({ protocolVersion: '9.9' })],
    ['a version of the protocol that is no text', saying({ protocolVersion: { $gt: '' } })],
  ])('is refused where it is no handshake: %s', async (_what, said) => {
    const { body } = await register(said).expect(400);
    expect(body.errors).toEqual([{ pointer: '/command', detail: expect.stringContaining('initialize') }]);
  });

  it.each([
    ['an empty version', saying({ version: '' }), { version: '1.0.0' }],
    ['a version that is a number', saying({ version: 2 }), { version: '1.0.0' }],
    ['no whole number of requests', saying({ maxConcurrency: 1.5 }), { maxConcurrency: 1 }],
    ['a negative number of requests', saying({ maxConcurrency: -1 }), { maxConcurrency: 1 }],
    [
      'as much as it may',
      saying({ description: long(4_096), maxConcurrency: 1_000 }),
      { maxConcurrency: 1_000 },
    ],
    ['capabilities without end', saying({ capabilities: nested(30) }), { version: '1.0.0' }],
    [
      'members of its own',
      saying({ status: 'error', env: { A: 'b' }, command: '/bin/sh' }),
      { command: 'node' },
    ],
    ['a prototype', `{"__proto__":{"version":"6"},${saying({}).slice(1)}`, { version: '1.0.0' }],
    ['members twice', `{"version":"3",${saying({}).slice(1)}`, { version: '1.0.0' }],
  ])('counts as far as it makes sense: %s', async (_what, said, expected) => {
    const { body } = await register(said).expect(201);
    expect(body).toMatchObject({ ...expected, status: 'active' });
    await tk.call(body.name, { a: 1 }).expect(200, /"result":\{"a":1\}/);
  });

  it('does not matter where the registration says it', async () => {
    const said = saying({ description: long(5_000), version: long(100), maxConcurrency: 5_000 });
    const own = { description: 'mine', version: '2', maxConcurrency: 3 };
    const { body } = await register(said, own).expect(201);
    expect(body).toMatchObject(own);
  });

  it('makes no list that is too long to read', async () => {
    const most = saying({ description: long(4_096), inputSchema: { title: long(65_000) } });
    for (let n = 0; n < 3; n++) await register(most).expect(201);
    const { text } = await tk.anonymous.get('/api/v1/tools').expect(200);
    // Each stands there with its schema, and nothing is there twice.
    expect(text.length).toBeLessThan(count * 80_000);
  });
});

function nested(levels: number): object {
  return levels === 0 ? {} : { properties: nested(levels - 1) };
}
