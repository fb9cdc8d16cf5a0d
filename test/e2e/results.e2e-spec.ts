import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the whole server, processes, HTTP; mock: nothing

let tk: TestApp;
const folder = makeTestFolder();
chmodSync(folder, 0o755);
const secret = 'a-secret-of-the-shop';
const object = { type: 'object' };
const readOnly = { readOnlyHint: true, openWorldHint: false };

beforeAll(async () => {
  tk = await startApp();
  const list = join(folder, 'tools.json');
  const tools = [
    { name: 'go', title: 'Go there', description: 'Goes', inputSchema: object, annotations: readOnly },
    ...['plain', 'other'].map((name) => ({ name, inputSchema: object })),
  ];
  writeFileSync(list, JSON.stringify(tools));
  await tk.http
    .post('/api/v1/custom-tools')
    .send({
      ...{ name: 'shop', protocol: 'mcp', command: 'node' },
      ...{ cacheTtlMs: 60_000, annotations: { readOnly: true } },
      args: [join(fixtures, 'mcp-server.mjs'), `--lists=${list}`],
      ...{ env: { TOKEN: secret }, sandbox: { allowedPaths: [folder] } },
    })
    .expect(201);
  await tk.register('own');
});
afterAll(() => tk.close());

const data = 'iVBORw0KGgo=';
const text = { type: 'text', text: 'seen' };
const picture = { type: 'image', data, mimeType: 'image/png' };
const mark = '[image image/png, 8 bytes]';

/** Calls of each platform. */
const calls = {
  openai: (tool: string, input: object) => ({
    id: 'c',
    function: { name: tool, arguments: JSON.stringify(input) },
  }),
  'openai-responses': (tool: string, input: object) => ({
    ...{ type: 'function_call', call_id: 'c', name: tool },
    arguments: JSON.stringify(input),
  }),
  anthropic: (tool: string, input: object) => ({ type: 'tool_use', id: 'c', name: tool, input }),
  distri: (tool: string, input: object) => ({ tool_call_id: 'c', tool_name: tool, input }),
};
const run = async (toolCalls: object[], more: object = {}, key?: string) => {
  const asked = tk.http.post('/api/v1/tool-calls').send({ toolCalls, ...more });
  const { body } = await (key === undefined ? asked : asked.set('idempotency-key', key)).expect(200);
  return body.results;
};
const overMcp = async (name: string, input: object) => {
  const params = { name, arguments: input };
  const { body } = await tk.http.post('/mcp').send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const { _meta, ...result } = body.result;
  return result;
};
const go = 'shop__go';

describe.each([
  ['of an MCP server', go, (result: object) => ({ result })],
  ['of another tool', 'own', (result: object) => result],
])('a picture %s', (_whose, tool, inputFor) => {
  const input = inputFor({ content: [text, picture] });

  it("reaches a model in each platform's form", async () => {
    const [chat] = await run([calls.openai(tool, input)]);
    expect(chat).toEqual({ role: 'tool', tool_call_id: 'c', content: `seen\n${mark}` });
    const [responses] = await run([calls['openai-responses'](tool, input)]);
    expect(responses).toEqual({
      type: 'function_call_output',
      call_id: 'c',
      output: [
        { type: 'input_text', text: 'seen' },
        { type: 'input_image', image_url: `data:image/png;base64,${data}` },
      ],
    });
    const anthropic = {
      type: 'tool_result',
      tool_use_id: 'c',
      content: [text, { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }],
    };
    expect(await run([calls.anthropic(tool, input)])).toEqual([anthropic]);
    const [distri] = await run([calls.distri(tool, input)]);
    expect(distri.parts).toEqual([{ part_type: 'data', data: { result: `seen\n${mark}`, success: true } }]);
    const [holmes] = await run([calls.openai(tool, input)], { format: 'holmes' });
    expect(holmes.result).toMatchObject({ status: 'success', data: `seen\n${mark}` });
    // Cached, under a key and again, and beside other calls.
    const twice = [calls.anthropic(tool, input), calls.anthropic(tool, input)];
    for (const key of ['once', 'once', undefined])
      expect(await run(twice, {}, key)).toEqual([anthropic, anthropic]);
  });

  it('is passed on over MCP and REST', async () => {
    expect(await overMcp(tool, input)).toEqual({ content: [text, picture] });
    const { body } = await tk.call(tool, input).expect(200);
    expect(body.result).toEqual({ content: [text, picture] });
  });
});

describe('nothing', () => {
  it('stays nothing', async () => {
    const input = { result: { content: [] } };
    expect(await overMcp(go, input)).toEqual({ content: [] });
    const asked = Object.values(calls).map((call) => call(go, input));
    const [chat, responses, anthropic] = await run(asked);
    expect([chat.content, responses.output, anthropic.content]).toEqual(['', '', '']);
  });

  it('is given twice', async () => {
    const structuredContent = { a: 1, b: [2] };
    const content = [{ type: 'text', text: JSON.stringify(structuredContent, null, 2) }];
    const input = { result: { content, structuredContent } };
    const [chat, , anthropic, distri] = await run(Object.values(calls).map((call) => call(go, input)));
    expect([chat.content, anthropic.content]).toEqual([content[0]?.text, content[0]?.text]);
    expect(distri.parts[0].data.result).toEqual(structuredContent);
    expect(await overMcp(go, input)).toEqual(input.result);
  });
});

describe('an error', () => {
  const address = 'https://shop.example/connect';
  const error = {
    code: -32042,
    message: 'URL elicitation required',
    data: { elicitations: [{ mode: 'url', url: `${address}?token=${secret}` }] },
  };

  it('reaches a model with its code and data, without secrets', async () => {
    const asked = Object.values(calls).map((call) => call('shop__plain', { error }));
    const texts = (await run(asked)).map((result: object) => JSON.stringify(result));
    const { content, isError } = await overMcp('shop__plain', { error });
    expect(isError).toBe(true);
    for (const said of [...texts, content[0].text]) {
      expect(said).toContain('tool_error: URL elicitation required');
      expect(said).toContain('-32042');
      expect(said).toContain(address);
      expect(said).not.toContain(secret);
    }
  });

  it('of a tool of its own reaches a model with its data', async () => {
    const input = { action: 'error', code: -32050, message: 'no', data: { retry: 'tomorrow' } };
    const said = 'tool_error: no\ncode: -32050\ndata: {"retry":"tomorrow"}';
    expect(await run([calls.openai('own', input)])).toMatchObject([{ content: said }]);
    expect(await overMcp('own', input)).toEqual({ content: [{ type: 'text', text: said }], isError: true });
  });

  it('with a picture', async () => {
    const result = { content: [text, picture], isError: true };
    const [anthropic, responses] = await run([
      calls.anthropic('shop__other', { result }),
      calls['openai-responses']('shop__other', { result }),
    ]);
    expect(anthropic).toMatchObject({ content: `tool_error: seen\n${mark}`, is_error: true });
    expect(responses.output).toEqual([
      { type: 'input_text', text: 'tool_error: seen' },
      { type: 'input_image', image_url: `data:image/png;base64,${data}` },
    ]);
    expect(await overMcp('shop__other', { result })).toEqual(result);
  });
});

it('a tool is listed with the title and the hints that its server gave', async () => {
  const { body } = await tk.http
    .post('/mcp')
    .send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    .expect(200);
  const listed = (name: string) => body.result.tools.find((tool: { name: string }) => tool.name === name);
  const empty = { type: 'object', properties: {} };
  expect(listed(go)).toEqual({
    name: go,
    title: 'Go there',
    description: 'Goes',
    inputSchema: empty,
    annotations: readOnly,
  });
  expect(listed('shop__plain')).toEqual({
    ...{ name: 'shop__plain', description: '', inputSchema: empty },
    // As the registration says.
    annotations: { readOnlyHint: true },
  });
  const { body: own } = await tk.http.get(`/api/v1/tools/${go}?format=mcp`).expect(200);
  expect(own).toEqual(listed(go));
  const { body: rest } = await tk.http.get(`/api/v1/tools/${go}`).expect(200);
  // Its server has a network: the claim to reach nobody does not count.
  const annotations = { readOnly: true, idempotent: false, destructive: true, openWorld: false };
  expect(rest).toMatchObject({ title: 'Go there', annotations, hints: readOnly });
});
