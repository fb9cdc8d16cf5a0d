import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { firstCall } from '../../console/src/lib/snippets.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';

// real: the whole server, HTTP, curl; mock: nothing

let tk: TestApp;
let builtins: Json[];
beforeAll(async () => {
  tk = await startApp();
  await tk.register('mine');
  const { body } = await tk.http.get('/api/v1/tools?limit=200').expect(200);
  builtins = body.data.filter(({ kind }: Json) => kind === 'builtin');
});
afterAll(() => tk.close());

const isHarmless = ({ annotations }: Json): boolean => annotations.readOnly && !annotations.openWorld;
const rpc = (method: string, params: object) =>
  tk.anonymous
    .post('/mcp')
    .set('accept', 'application/json, text/event-stream')
    .send({ jsonrpc: '2.0', id: 1, method, params });

describe('a caller without a key', () => {
  it('is listed custom tools and harmless built-in ones, over REST and MCP', async () => {
    const { body } = await tk.anonymous.get('/api/v1/tools?limit=200').expect(200);
    // They act on a tab of the caller's own, with the rights of that tab.
    const ofPages = await tk.anonymous.get('/api/v1/tools?kind=ui').expect(200);
    expect(ofPages.body.data.map(({ name }: Json) => name)).toContain('navigate_to');
    const harmless = builtins.filter(isHarmless).map(({ name }) => name);
    const expected = ['mine', ...harmless].sort();
    expect(body.data.map(({ name }: Json) => name).sort()).toEqual(expected);
    const listed = await rpc('tools/list', {}).expect(200);
    expect(listed.body.result.tools.map(({ name }: Json) => name).sort()).toEqual(expected);
    await tk.anonymous.post('/api/v1/tools/mine/execute').send({ input: {} }).expect(200);
  });

  it('calls no other built-in tool, by no way in, and is told how to send a key', async () => {
    const others = builtins.filter((tool) => !isHarmless(tool));
    expect(others.map(({ name }) => name)).toEqual(expect.arrayContaining(['analyze_with_llm', 'writeFile']));
    for (const { name } of others) {
      const refused = await tk.anonymous
        .post(`/api/v1/tools/${name}/execute`)
        .send({ input: {} })
        .expect(401);
      expect(refused.headers['www-authenticate']).toContain('Bearer');
      expect(refused.body.detail).toMatch(/Authorization: Bearer <key>.*x-api-key.*admin\.key/);
      const { body } = await rpc('tools/call', { name, arguments: {} });
      expect([name, body.error.message]).toEqual([name, expect.stringContaining('Authorization: Bearer')]);
      // With the key the call gets as far as its input.
      await tk.http.post(`/api/v1/tools/${name}/execute`).send({ input: 1 }).expect(422);
    }
    for (const tool of builtins.filter(isHarmless))
      await tk.anonymous.post(`/api/v1/tools/${tool.name}/execute`).send({ input: 1 }).expect(422);
  });

  it('reads executions of the project default alone, and figures of all', async () => {
    await tk.anonymous.post('/api/v1/tools/mine/execute').send({ input: {} }).expect(200);
    await tk.http
      .post('/api/v1/tools/mine/execute')
      .set('x-project-id', 'support')
      .send({ input: {} })
      .expect(200);
    const read = async (http: typeof tk.http, path: string): Promise<Json> =>
      (await http.get(`/api/v1/tool-metrics/${path}`).expect(200)).body;
    const all: Json[] = (await read(tk.http, 'executions?tool=mine')).data;
    const own: Json[] = (await read(tk.anonymous, 'executions?tool=mine')).data;
    expect(all.map(({ project }) => project)).toContain('support');
    expect(own).toEqual(all.filter(({ project }) => project === 'default'));
    const metricId = all.find((each) => each.project === 'support')?.metricId;
    expect(await read(tk.http, `executions/${metricId}`)).toMatchObject({ project: 'support' });
    await tk.anonymous.get(`/api/v1/tool-metrics/executions/${metricId}`).expect(404);
    expect((await read(tk.anonymous, 'stats/mine')).totalCalls).toBe(all.length);
  });
});

it("the console's first call runs as it is copied", async () => {
  const mine = { name: 'mine', inputSchema: {} };
  const command = firstCall(tk.url, mine, `echo ${tk.key.authorization.slice(7)}`);
  const { stdout } = await promisify(execFile)('bash', ['-c', command]);
  expect(JSON.parse(stdout)).toMatchObject({ tool: 'mine', status: 'success' });
});
