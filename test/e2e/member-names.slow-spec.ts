import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the server, its database, files, the tools' processes; mock: nothing

const names = ['hasOwnProperty', 'constructor', 'toString', 'toJSON', 'then', 'prototype'];
const echo = { command: 'bash', args: ['echo.sh'] };
const everywhere = (name: string, value: unknown): Json => ({
  ...echo,
  description: 'd',
  metadata: { [name]: value },
  fallback: { [name]: value },
  inputSchema: { type: 'object', properties: { [name]: { type: 'number' } } },
  env: { [name]: 'value of it' },
});
const ofUser = ({ metadata, fallback, inputSchema, env }: Json): Json => ({
  metadata,
  fallback,
  inputSchema,
  env,
});

describe('a member of what users give that is named like one of Object itself', () => {
  let tk: TestApp;
  let folder: string;
  const register = () => tk.http.post('/api/v1/custom-tools');
  const path = (name: string, rest = ''): string => `/api/v1/custom-tools/${name}${rest}`;
  beforeAll(async () => {
    folder = makeTestFolder();
    copyFileSync(join(fixtures, 'echo.sh'), join(folder, 'echo.sh'));
    tk = await startApp({ CUSTOM_TOOLS_DIR: folder });
  });
  afterAll(async () => {
    await tk.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(names)('is kept by every route: %s', async (name) => {
    const tool = `tool_${name.toLowerCase()}`;
    const given = { ...everywhere(name, { [name]: [1] }), name: tool, workingDir: folder };
    const { body: made } = await register().send(given).expect(201);
    const shown = { ...ofUser(given), env: { [name]: '***' } };
    expect(ofUser(made)).toEqual(shown);
    for (const route of ['disable', 'enable', 'validate'])
      await tk.http.post(path(tool, `/${route}`)).expect(200);
    const { body } = await tk.http
      .patch(path(tool))
      .send({ metadata: { [name]: 2 }, env: { [name]: 'another value' } })
      .expect(200);
    expect(ofUser(body)).toEqual({ ...shown, metadata: { [name]: 2 } });
    expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(made.updatedAt));
    expect(body.createdAt).toBe(made.createdAt);
    const { body: diff } = await tk.http.get(path(tool, '/revisions/2/diff')).expect(200);
    expect(diff.changes).toEqual([
      { path: `/configuration/env/${name}`, before: '***', after: '***' },
      { path: `/configuration/metadata/${name}`, before: { [name]: [1] }, after: 2 },
    ]);
    await tk.http.post(path(tool, '/rollback')).send({ revision: 1 }).expect(200);
    await tk.http
      .patch(path(tool))
      .send({ env: { [name]: null } })
      .expect(200);
    const { body: last } = await tk.http.get(path(tool)).expect(200);
    expect(ofUser(last)).toEqual({ ...shown, env: {} });
    expect((await tk.call(tool, { [name]: 7 }).expect(200)).body.result).toEqual({ [name]: 7 });
    await tk.call(tool, { [name]: 'text' }).expect(422);
    await tk.call(tool, {}).expect(200);
    await tk.http.get('/api/v1/tools?format=openai').expect(200);
    await tk.http.delete(path(tool)).expect(204);
  });

  it('is refused where it would be the prototype: over HTTP and in a tool.json', async () => {
    const text = '{"name":"proto","command":"bash","args":["echo.sh"],"metadata":{"__proto__":{"x":1}}}';
    const refused = await register().set('content-type', 'application/json').send(text).expect(400);
    expect(refused.body.code).toBe('invalid_request');
    for (const [name, content] of [
      ['proto', text],
      ['shown', text.replace('__proto__', 'constructor').replace('"proto"', '"shown"')],
    ] as const) {
      mkdirSync(join(folder, name));
      copyFileSync(join(fixtures, 'echo.sh'), join(folder, name, 'echo.sh'));
      writeFileSync(join(folder, name, 'tool.json'), content);
    }
    const get = (name: string) => tk.http.get(path(name));
    await until(async () => (await get('shown')).status === 200, { what: 'the import of the control' });
    expect((await get('shown')).body.metadata).toEqual({ ['constructor']: { x: 1 } });
    // Files are read in the order of their folders.
    await get('proto').expect(404);
  });
});
