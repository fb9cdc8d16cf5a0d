import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the whole server, processes, HTTP, the official client; mock: nothing

let tk: TestApp;
let client: Client;
const folder = makeTestFolder();
chmodSync(folder, 0o755);

beforeAll(async () => {
  tk = await startApp();
  client = new Client({ name: 'test', version: '1.0.0' });
  // The SDK was not written for exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', tk.url)));
});

afterAll(async () => {
  await client.close();
  await tk.close();
});

const args = (...options: string[]) => [join(fixtures, 'mcp-server.mjs'), ...options];
const register = (name: string, options: string[] = [], settings: object = {}) =>
  tk.http
    .post('/api/v1/custom-tools')
    .send({ name, protocol: 'mcp', command: 'node', args: args(...options), ...settings });
const serve = (name: string, tools: unknown[], settings: object = {}) => {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(tools));
  return register(name, [`--lists=${file}`], { sandbox: { allowedPaths: [folder] }, ...settings });
};
const stateOf = async (server: string, tool: string) => {
  const { body } = await tk.http.get(`/api/v1/custom-tools/${server}/tools`).expect(200);
  return body.data.find((each: { tool: string }) => each.tool === tool);
};
const listed = async (start: string) => {
  for (let cursor: string | undefined; ;) {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    const found = page.tools.find(({ name }) => name.startsWith(start));
    if (found || page.nextCursor === undefined) return found;
    cursor = page.nextCursor;
  }
};
/** The result that a server's tool gives, as a client reads it. */
const given = async (name: string, result: object) => {
  const { _meta, ...read } = await client.callTool({ name, arguments: { result } });
  return read;
};

const object = { type: 'object' };
const tool = (name: string, more: object = {}) => ({ name, inputSchema: object, ...more });

describe('an output schema', () => {
  const id = 'https://example.com/row';
  it('that clients cannot compile is left out with a warning: all of them list all tools', async () => {
    const odd: Record<string, object> = {
      dangling: { properties: { a: { $ref: '#/$defs/Gone' } } },
      elsewhere: { properties: { a: { $ref: 'https://example.com/schema.json' } } },
      mistyped: { properties: { a: { type: 'strnig' } } },
      unmatchable: { properties: { a: { type: 'string', pattern: '(?i)a' } } },
      draft04: {
        $schema: 'http://json-schema.org/draft-04/schema#',
        properties: { a: { minimum: 0, exclusiveMinimum: true } },
      },
      named: { properties: { a: { $id: id, type: 'string' } } },
      named_too: { properties: { a: { $id: id, type: 'number' } } },
    };
    const sound: Record<string, object> = {
      plain: { properties: { a: { type: 'string' } } },
      booleans: { properties: { a: true } },
      untyped: {},
      one: { $id: id, properties: { a: { type: 'string' } }, required: ['a'] },
      // Another schema of the same $id.
      two: { $id: id, properties: { b: { type: 'string' } }, required: ['b'] },
    };
    // Clients before 2026-07-28 know schemas of objects alone.
    const newer: Record<string, object> = {
      listed: { type: 'array', items: {} },
      nullable: { type: ['object', 'null'] },
    };
    const tools = Object.entries({ ...odd, ...newer, ...sound }).map(([name, outputSchema]) =>
      tool(name, { outputSchema }),
    );
    await serve('odd', tools).expect(201);
    for (const name of Object.keys(odd)) {
      expect(await stateOf('odd', name)).toMatchObject({
        state: 'callable',
        warning: expect.stringMatching(/^it is listed without its outputSchema: its outputSchema /),
      });
      expect(await listed(`odd__${name}`)).not.toHaveProperty('outputSchema');
    }
    for (const [name, outputSchema] of Object.entries(newer)) {
      expect(await stateOf('odd', name)).not.toHaveProperty('warning');
      expect(await listed(`odd__${name}`)).not.toHaveProperty('outputSchema');
      const { body } = await tk.http.get(`/api/v1/tools/odd__${name}`).query({ format: 'mcp' }).expect(200);
      expect(body).toMatchObject({ outputSchema });
    }
    for (const name of Object.keys(sound)) {
      expect(await stateOf('odd', name)).not.toHaveProperty('warning');
      expect(await listed(`odd__${name}`)).toMatchObject({ outputSchema: object });
    }
    await tk.http.get('/api/v1/custom-tools/odd/logs').expect(200, /odd__dangling: it is listed without/);
  });
});

it.each([
  ['draft-04', 'http://json-schema.org/draft-04/schema#'],
  ['another spelling', 'https://json-schema.org/draft-07/schema'],
  ['a dialect that nobody knows', 'https://example.com/dialect'],
])('an input schema of %s is read as the nearest dialect, with a warning', async (what, $schema) => {
  const name = `dialect-${what.length}`;
  const inputSchema = { ...object, $schema, properties: { n: { type: 'integer' } } };
  await serve(name, [tool('go', { inputSchema })]).expect(201);
  expect(await stateOf(name, 'go')).toMatchObject({
    state: 'callable',
    warning: expect.stringContaining('is not known here'),
  });
  await tk.call(`${name}__go`, { n: 1 }).expect(200);
  await tk.call(`${name}__go`, { n: 'x' }).expect(422);
});

it('an output schema that an answer does not keep is listed no more, with a warning', async () => {
  const outputSchema = { ...object, properties: { a: { type: 'string' } } };
  await serve('promise', [tool('broken', { outputSchema }), tool('kept', { outputSchema })]).expect(201);
  const text = [{ type: 'text', text: 'in words' }];
  const failed = { content: text, isError: true };
  await given('promise__kept', failed);
  await given('promise__kept', { content: text, structuredContent: { a: 'x' } });
  await given('promise__broken', failed);
  expect(await listed('promise__broken')).toMatchObject({ outputSchema });
  await expect(given('promise__broken', { content: text })).rejects.toThrow(/structured content/);
  expect(await listed('promise__broken')).not.toHaveProperty('outputSchema');
  expect(await given('promise__broken', { content: text })).toEqual({ content: text });
  expect(await listed('promise__kept')).toMatchObject({ outputSchema });
  expect(await stateOf('promise', 'broken')).toMatchObject({
    state: 'callable',
    warning: expect.stringContaining('answered without structured content'),
  });
  await tk.http.get('/api/v1/custom-tools/promise/logs').expect(200, /promise__broken: it is listed without/);
});

describe('null', () => {
  const nulls = { default: null, enum: [null, 'x'], description: null, items: null };
  it('is an absent member of a definition', async () => {
    const inputSchema = { ...object, properties: { a: nulls, b: null }, required: null, $schema: null };
    const odd = { title: null, description: null, outputSchema: null, annotations: null };
    await serve('nulls', [
      tool('one', odd),
      tool('two', { inputSchema, outputSchema: { ...inputSchema, title: null } }),
      tool('three', { annotations: { title: null, readOnlyHint: null } }),
    ]).expect(201);
    for (const name of ['one', 'two', 'three'])
      expect(await stateOf('nulls', name)).not.toMatchObject({ warning: expect.anything() });
    expect(await listed('nulls__one')).not.toHaveProperty('outputSchema');
    const { inputSchema: read } = (await listed('nulls__two')) ?? {};
    expect(read).toEqual({ ...object, properties: { a: { default: null, enum: [null, 'x'] } } });
    expect(await listed('nulls__two')).toMatchObject({ outputSchema: read });
    await given('nulls__three', { content: [{ type: 'text', text: '' }] });
  });

  const text = { type: 'text', text: 'fine' };
  const structuredContent = { a: null };
  it.each([
    [{ content: [text], structuredContent: null, isError: null, _meta: null }, { content: [text] }],
    [{ content: [{ ...text, annotations: null, _meta: null }] }, { content: [text] }],
    [
      { content: [{ ...text, annotations: { priority: null, audience: ['user'] } }] },
      { content: [{ ...text, annotations: { audience: ['user'] } }] },
    ],
    [
      { content: null, structuredContent, isError: null },
      { content: [{ type: 'text', text: '{"a":null}' }], structuredContent },
    ],
    [
      { content: [text], structuredContent, isError: false },
      { content: [text], structuredContent, isError: false },
    ],
  ])('is an absent member of a result: %j', async (result, read) => {
    expect(await given('nulls__one', result)).toEqual(read);
  });
});

describe('a result', () => {
  const text = { type: 'text', text: 't' };
  const video = { type: 'video', data: 'AA==', mimeType: 'video/mp4' };
  const structuredContent = { code: 'RATE_LIMITED', retry_after: 30 };
  const asText = (value: unknown) => ({ type: 'text', text: JSON.stringify(value) });
  beforeAll(() => serve('results', [tool('go')]).expect(201));

  it.each<[string, object, object]>([
    [
      'whose error is structured',
      { content: [], structuredContent, isError: true },
      { content: [asText(structuredContent)] },
    ],
    ['whose error is both', { content: [text], structuredContent, isError: true }, {}],
    [
      'whose error is an image',
      { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }], isError: true },
      {},
    ],
    [
      'with a block that no client knows',
      { content: [text, video] },
      { content: [text, { type: 'text', text: '[video video/mp4, 1 bytes]' }] },
    ],
    [
      'with a block that lacks a member',
      { content: [{ type: 'image', data: '' }, text] },
      { content: [{ type: 'text', text: '[image, 0 bytes]' }, text] },
    ],
    [
      'with a block that is no object',
      { content: ['plain', text] },
      { content: [{ type: 'text', text: 'plain' }, text] },
    ],
    ['without content', { content: [] }, {}],
    ['without content beside an error', { content: [], isError: true }, {}],
    ['with a text as content', { content: 't' }, { content: [text] }],
    ['with one block as content', { content: text }, { content: [text] }],
    [
      'with a number as text',
      { content: [{ type: 'text', text: 7 }] },
      { content: [{ type: 'text', text: '7' }] },
    ],
    [
      'with a list as structured content beside its text',
      { content: [{ type: 'text', text: '[1]' }], structuredContent: [1] },
      { structuredContent: undefined },
    ],
    [
      'with a list as structured content',
      { content: [text], structuredContent: [1] },
      { content: [text, asText([1])], structuredContent: undefined },
    ],
  ])('%s reaches clients block by block', async (_what, result, change) => {
    expect(await given('results__go', result)).toEqual({ ...result, ...change });
  });

  it('with a structured error alone tells why over REST, too', async () => {
    const { body } = await tk.call('results__go', {
      result: { isError: true, content: [], structuredContent },
    });
    expect(body.error).toMatchObject({
      message: JSON.stringify(structuredContent),
      data: { structuredContent },
    });
  });
});

it.each([
  ['""', undefined],
  ['null', undefined],
  ['0', undefined],
  ['false', undefined],
  ['7', /nextCursor 7, which is no text/],
  ['{"page":2}', /nextCursor {"page":2}, which is no text/],
])('the cursor %s of the last page', async (cursor, why) => {
  const answer = await register(`cursor-${cursor.length}${why ? 'x' : ''}`, [`--cursor=${cursor}`]);
  if (!why) return expect(answer.status).toBe(201);
  expect(answer.status).toBe(400);
  expect(answer.body.detail).toMatch(why);
});

describe('a registration', () => {
  const names = async (server: string) => {
    const { body } = await tk.http.get(`/api/v1/custom-tools/${server}/tools`).expect(200);
    return body.data.map(({ tool, state }: { tool: string; state: string }) => `${tool} ${state}`);
  };

  it('says how many tools are callable, held and refused, and why; the list is whole at once', async () => {
    const { body } = await serve('counted', [
      tool('go'),
      tool('order', { description: 'Adds\u200bnumbers' }),
      tool('listless', { inputSchema: 7 }),
      tool('warns', { outputSchema: { properties: { a: { $ref: '#/$defs/Gone' } } } }),
      tool(''),
    ]).expect(201);
    const all = await names('counted');
    expect(body.tools).toEqual({
      callable: all.filter((each: string) => each.endsWith(' callable')).length,
      held: 1,
      refused: 2,
      why: [
        expect.stringMatching(/^counted__order is not callable \(held\): /),
        expect.stringMatching(/^counted__listless is not callable \(refused\): its inputSchema/),
        expect.stringMatching(/^counted__warns: it is listed without its outputSchema/),
        expect.stringMatching(/^counted__ is not callable \(refused\): its name/),
      ],
    });
    expect(all).toEqual(
      expect.arrayContaining(['go callable', 'order held', 'listless refused', 'warns callable']),
    );
    const { body: listed } = await tk.http.get('/api/v1/custom-tools').expect(200);
    expect(listed.data.find((each: { name: string }) => each.name === 'counted')).not.toHaveProperty('tools');
  });

  it.each([
    ['Mower Status', /^names-0__Mower_Status_[0-9a-f]{8}$/],
    ['files/read:all', /^names-1__files_read_all_[0-9a-f]{8}$/],
    ['$(){}', /^names-2____[0-9a-f]{8}$/],
    ['x'.repeat(127) + ' ', /^names-3__x{119}_[0-9a-f]{8}$/],
    ['plain_name.v2', /^names-4__plain_name.v2$/],
  ])('gives the tool %j a name that platforms take', async (own, expected) => {
    const server = `names-${['M', 'f', '$', 'x', 'p'].indexOf(own.slice(0, 1))}`;
    await serve(server, [tool(own)]).expect(201);
    const { name } = await stateOf(server, own);
    expect(name).toMatch(expected);
    expect((await tk.call(name, { a: 1 }).expect(200)).body.result.structuredContent).toEqual({
      name: own,
      input: { a: 1 },
    });
    const shown = await listed(name.slice(0, 40));
    expect(shown?.name).toMatch(/^[A-Za-z0-9_.-]{1,128}$/);
    expect(await client.callTool({ name: shown?.name ?? '', arguments: {} })).toMatchObject({
      structuredContent: { name: own },
    });
  });
});

it('a server that ends after each answer fails one quick call at most', async () => {
  await register('once', ['--once']).expect(201);
  const states: string[] = [];
  for (let n = 0; n < 8; n++)
    states.push((await tk.call('once__echo', { text: 'x' }).expect(200)).body.status);
  expect(states.filter((status) => status !== 'success').length).toBeLessThan(2);
});

it('a tool of another protocol with a dialect that is not known is registered, and its log warns', async () => {
  const inputSchema = { ...object, $schema: 'http://json-schema.org/draft-04/schema#' };
  await tk.register('old_dialect', { inputSchema });
  await tk.call('old_dialect', {}).expect(200);
  await tk.http.get('/api/v1/custom-tools/old_dialect/logs').expect(200, /read as JSON Schema draft-07/);
});
