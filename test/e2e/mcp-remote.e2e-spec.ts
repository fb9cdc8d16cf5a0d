import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { McpHttpServer } from '../support/mcp-http-server.js';
import { processesWith } from '../support/processes.js';
import { until } from '../support/wait.js';

let tk: TestApp;
let upstream: McpHttpServer;

beforeAll(async () => {
  [tk, upstream] = await Promise.all([
    startApp({ CUSTOM_TOOLS_MAX_OUTPUT_BYTES: '2000000' }, { customTools: { healthTimeoutMs: 500 } }),
    McpHttpServer.start(),
  ]);
});

afterAll(async () => {
  await tk.close();
  await upstream.stop();
});

const register = (body: object) => tk.http.post('/api/v1/custom-tools').send({ protocol: 'mcp', ...body });
const call = async (tool: string, input: object = {}, context?: Record<string, unknown>) =>
  (await tk.call(tool, input, context).expect(200)).body;

describe.each(['json', 'events'])('an MCP server behind a URL that answers with %s', (how) => {
  const secret = { headers: { Authorization: 'Bearer ${TOKEN}' }, env: { TOKEN: 'sesame-open' } };

  it('is registered and called as any other, with its headers', async () => {
    const { body } = await register({ name: how, url: upstream.url(`/${how}`), ...secret }).expect(201);
    expect(body).toMatchObject({
      url: upstream.url(`/${how}`),
      command: '',
      version: '7',
      headers: { Authorization: 'Bearer ${TOKEN}' },
      env: { TOKEN: '***' },
      effectiveSandbox: { tier: 0, enforced: [] },
    });
    expect(await call(`${how}__echo`, { text: 'grüße\n' })).toMatchObject({
      status: 'success',
      result: { structuredContent: { text: 'grüße\n' } },
    });
    const { result } = await call(`${how}__headers`);
    expect(result.structuredContent).toMatchObject({
      authorization: 'Bearer sesame-open',
      'mcp-protocol-version': '2025-06-18',
    });
  });

  it('answers many calls at a time, and ends one whose time is over alone', async () => {
    const calls = Array.from({ length: 20 }, (_, n) => call(`${how}__echo`, { n }));
    const late = call(`${how}__hang`, {}, { timeoutMs: 200 });
    const answers = await Promise.all(calls);
    expect(answers.map(({ result }) => result.structuredContent.n)).toEqual(answers.map((_, n) => n));
    expect(await late).toMatchObject({ status: 'timeout' });
    await until(() => upstream.heard.includes('notifications/cancelled'), { what: 'the cancellation' });
    expect(await call(`${how}__echo`)).toMatchObject({ status: 'success' });
  });

  it('is at fault for a status, a cut connection and a session that it forgot, and is called again', async () => {
    expect((await call(`${how}__status`, { code: 503 })).error).toMatchObject({
      type: 'tool_error',
      message: 'It answered 503',
    });
    expect((await call(`${how}__cut`)).error).toMatchObject({ type: 'tool_crashed' });
    expect(await call(`${how}__forget`)).toMatchObject({ status: 'success' });
    expect((await call(`${how}__echo`)).error).toMatchObject({ type: 'tool_crashed' });
    expect(await call(`${how}__echo`, { again: true })).toMatchObject({ status: 'success' });
    const big = await call(`${how}__big`, { bytes: 3_000_000 });
    expect(big.error.message).toBe('Its answer is over 2000000 bytes');
    expect(await call(`${how}__echo`)).toMatchObject({ status: 'success' });
  });

  it('tells of its tools, and ends its session', async () => {
    await until(() => upstream.listening > 0, { what: 'a listener' });
    upstream.tools.push({ name: 'late', inputSchema: { type: 'object' } });
    upstream.change();
    const path = `/api/v1/custom-tools/${how}`;
    const states = async () =>
      (await tk.http.get(`${path}/tools`)).body.data as { tool: string; state: string }[];
    await until(async () => (await states()).some(({ tool, state }) => tool === 'late' && state === 'held'), {
      what: 'the new tool',
    });
    upstream.tools.pop();
    await tk.http.delete(path).expect(204);
    await until(() => upstream.sessions.size === 0 && upstream.listening === 0, {
      what: 'the end of its session',
    });
  });
});

describe('a URL', () => {
  it.each<[string, () => object, RegExp]>([
    ['/url', () => ({ url: tk.url }), /address of this server itself/],
    ['/url', () => ({ url: tk.url.replace('127.0.0.1', 'localhost') }), /address of this server itself/],
    [
      '/url',
      () => ({ url: tk.url.replace('127.0.0.1', '[::ffff:127.0.0.1]') }),
      /address of this server itself/,
    ],
    ['/url', () => ({ url: tk.url.replace('127.0.0.1', '127.9.9.9') }), /this server itself|ECONNREFUSED/],
    ['/url', () => ({ url: 'http://127.0.0.1:1/mcp' }), /ECONNREFUSED/],
    ['/url', () => ({ url: 'file:///etc/passwd' }), /http or https/],
    ['/url', () => ({ url: 'http://me:secret@127.0.0.1/' }), /no credentials/],
    ['/url', () => ({ url: upstream.url('/json'), protocol: 'jsonrpc' }), /needs protocol "mcp"/],
    ['/url', () => ({ url: upstream.url('/json'), command: 'node' }), /must be left out/],
    ['/sandbox', () => ({ url: upstream.url('/json'), sandbox: { maxMemoryMB: 64 } }), /runs elsewhere/],
    ['/headers/X', () => ({ url: upstream.url('/json'), headers: { X: '${NO}' } }), /env does not hold/],
    ['/headers/Host', () => ({ url: upstream.url('/json'), headers: { Host: 'x' } }), /set by the server/],
    ['/headers', () => ({ url: upstream.url('/json'), headers: { 'a b': 'x' } }), /as HTTP does/],
    ['/headers', () => ({ command: 'node', headers: { X: 'x' } }), /needs url/],
    ['/command', () => ({}), /is needed/],
  ])('is refused at %s (%#)', async (pointer, body, why) => {
    const { body: problem } = await register({ name: 'wrong', ...body() }).expect(400);
    expect(problem.errors).toEqual([{ pointer, detail: expect.stringMatching(why) }]);
  });
});

describe('a hostile server', () => {
  const fixture = join(fixtures, 'mcp-server.mjs');
  const answers = (result: string) => [`--raw={"jsonrpc":"2.0","id":$ID,"result":${result}}`];

  it.each([
    ['an endless line', ['--flood=line'], /over 2000000 bytes/],
    ['too many tools', ['--flood=tools'], /more than 512 tools|over 1048576 bytes/],
    ['deep JSON', ['--flood=deep'], /deeper than 64 levels/],
    ['no tools', answers('{"tools":7}'), /without a list of tools/],
  ])('is refused with %s in its list', async (_what, args, why) => {
    const { body } = await register({ name: 'hostile', command: 'node', args: [fixture, ...args] }).expect(
      400,
    );
    expect(body.errors).toEqual([{ pointer: '/command', detail: expect.stringMatching(why) }]);
  });

  it('gets no name that another tool has, in whichever order they come', async () => {
    await tk.register('trap__echo');
    await register({ name: 'trap', command: 'node', args: [fixture] }).expect(201);
    expect((await tk.http.get('/api/v1/tools/trap__echo').expect(200)).body.kind).toBe('custom');
    const { body } = await tk.http.get('/api/v1/custom-tools/trap/tools').expect(200);
    expect(body.data).toContainEqual(
      expect.objectContaining({ tool: 'echo', state: 'refused', why: 'another tool has its name' }),
    );
    const taken = { name: 'trap__count', command: 'node', args: [join(fixtures, 'fixture-tool.mjs')] };
    await register({ ...taken, protocol: 'jsonrpc' }).expect(409, /taken/);
  });

  it('killed in mid-call leaves a record, no child of its own, and a next call that works', async () => {
    const mark = `--mark=${process.pid}-mid-call`;
    await register({ name: 'mortal', command: 'node', args: [fixture, mark] }).expect(201);
    const running = call('mortal__child');
    const children = () => processesWith(`child-of${mark}`);
    await until(() => children().length > 0, { what: 'the child' });
    // Of those that have its command line (what confines it has it, too) the server was started last.
    const ofServer = processesWith(mark).filter((pid) => !children().includes(pid));
    process.kill(Math.max(...ofServer), 'SIGKILL');
    const { executionId, error } = await running;
    expect(error).toMatchObject({ type: 'tool_crashed' });
    expect(await call('mortal__count')).toMatchObject({ status: 'success' });
    await until(() => children().length === 0, { what: 'no orphan' });
    await until(
      async () => (await tk.http.get(`/api/v1/tool-metrics/executions/${executionId}`)).status === 200,
      {
        what: 'the record',
      },
    );
  });
});
