import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { McpHttpServer } from '../support/mcp-http-server.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the whole server, MCP servers as processes and over HTTP; mock: nothing. What is refused at once stands in
// mcp-servers.e2e-spec.ts.

let tk: TestApp;
const folder = makeTestFolder();
chmodSync(folder, 0o755);
beforeAll(async () => {
  tk = await startApp();
});
afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

const register = (body: object) =>
  tk.http
    .post('/api/v1/custom-tools')
    .send({ protocol: 'mcp', ...body })
    .expect(201);

/** Each level asks for the next one twice: a small schema whose check takes long. */
function doubling(levels: number): object {
  const twice = (n: number) => ({ allOf: [{ $ref: `#/$defs/d${n}` }, { $ref: `#/$defs/d${n}` }] });
  const $defs = Object.fromEntries(Array.from({ length: levels }, (_, n) => [`d${n}`, twice(n + 1)]));
  return { type: 'object', $defs: { ...$defs, [`d${levels}`]: {} }, ...twice(0) };
}

it('many schemas that cost too much take the time of a few', async () => {
  const lists = join(folder, 'lists.json');
  const tools = Array.from({ length: 200 }, (_, n) => ({ name: `t${n}`, inputSchema: doubling(40) }));
  writeFileSync(lists, JSON.stringify(tools));
  const args = [join(fixtures, 'mcp-server.mjs'), `--lists=${lists}`];
  await register({ name: 'dear', command: 'node', args, sandbox: { allowedPaths: [folder] } });
  const { body } = await tk.http.get('/api/v1/custom-tools/dear/tools').expect(200);
  const why = body.data.map((tool: { why?: string }) => tool.why).filter(Boolean);
  expect(why).toHaveLength(200);
  expect(why[0]).toMatch(/^its inputSchema .*takes/);
  expect(why.at(-1)).toMatch(/^its inputSchema was not tried out: others of this server/);
  const { body: called } = await tk.call('dear__echo', { text: 'on' }).expect(200);
  expect(called.status).toBe('success');
});

/** How long twenty questions take, one after the other. */
async function livezMs(): Promise<number> {
  const began = performance.now();
  for (let n = 0; n < 20; n++) await tk.http.get('/livez').expect(200);
  return performance.now() - began;
}

it('nobody waits for a server behind a URL that writes comments without end', async () => {
  const upstream = await McpHttpServer.start();
  await register({ name: 'chatty', url: upstream.url('/json') });
  await until(() => upstream.listening > 0, { what: 'a listener' });
  const quietMs = await livezMs();
  upstream.flood();
  expect(await livezMs()).toBeLessThan(5 * quietMs + 500);
  const { body } = await tk.call('chatty__echo', { on: true }).expect(200);
  expect(body.result.structuredContent).toEqual({ on: true });
  await tk.http.delete('/api/v1/custom-tools/chatty').expect(204);
  await until(() => upstream.listening === 0, { what: 'the end of its session' });
  await upstream.stop();
});
