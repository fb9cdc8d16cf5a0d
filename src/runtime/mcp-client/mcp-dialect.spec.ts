import type { JsonObject } from '../../base/common/json.js';
import { type Dialect, type DialectSession, type Handshake, type Reply } from '../process-pool/pool.types.js';
import { mcpDialect } from './mcp-dialect.js';
import { newPeer } from './mcp-eras.js';
import { listLimits } from './mcp-lists.js';

type Answer = (reply: Reply, bytes: number) => void;

/** A server without a process: the test gives its answers. */
class Server {
  readonly asked: { readonly method: string; readonly params: object; readonly answered: Answer }[] = [];
  readonly notified: string[] = [];
  readonly handshakes: (Handshake | string)[] = [];
  readonly dialect: Dialect;
  readonly session: DialectSession;

  constructor(peer = newPeer('legacy')) {
    this.dialect = mcpDialect(['/srv/data dir'], peer);
    const sender = {
      request: (method: string, params: object, answered: Answer) =>
        void this.asked.push({ method, params, answered }),
      subscribe: () => '',
      notify: (method: string) => void this.notified.push(method),
      settle: () => undefined,
    };
    this.session = this.dialect.begin(sender, (handshake) => void this.handshakes.push(handshake));
  }

  readonly handle = (message: JsonObject): Reply | undefined => this.session.handle(message);

  answer(result: unknown, bytes = 100): this {
    this.asked.shift()?.answered({ result }, bytes);
    return this;
  }

  begins(about: object = {}): this {
    return this.answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, ...about });
  }
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
const changed = { method: 'notifications/tools/list_changed' };

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] }));
afterEach(() => void jest.useRealTimers());

it('introduces itself and reads all pages before the server is ready', () => {
  const server = new Server();
  expect(server.asked).toMatchObject([{ method: 'initialize', params: { protocolVersion: '2025-11-25' } }]);
  server.begins({ serverInfo: { name: 'up', version: '2' }, instructions: 'Read me' });
  expect(server.notified).toEqual(['notifications/initialized']);
  server.answer({ tools: [tool('a')], nextCursor: 'more' });
  expect(server.handshakes).toEqual([]);
  expect(server.asked).toMatchObject([{ method: 'tools/list', params: { cursor: 'more' } }]);
  server.answer({ tools: [tool('b')] });
  expect(server.handshakes).toEqual([
    {
      name: 'up',
      version: '2',
      description: 'Read me',
      protocolVersion: '2025-06-18',
      capabilities: { cancel: true },
      offers: { tools: {} },
      tools: [tool('a'), tool('b')],
    },
  ]);
});

it.each<[string, Reply, RegExp]>([
  ['an error', { error: { code: -32603, message: 'not today' } }, /error -32603: not today/],
  ['nothing', { result: null }, /a result that is not an object/],
  [
    'another revision',
    { result: { protocolVersion: '1999-01-01' } },
    /"1999-01-01"; this server speaks MCP 2025/,
  ],
])('does not start a server that introduces itself with %s', (_what, reply, why) => {
  const server = new Server();
  server.asked.shift()?.answered(reply, 9);
  expect(server.handshakes).toEqual([expect.stringMatching(why)]);
  expect(server.notified).toEqual([]);
});

const tooDeep = (): string => 'nested deeper than 64 levels';
const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

it.each<[string, unknown, number, RegExp]>([
  [
    '10,000 tools',
    { tools: Array.from({ length: 10_000 }, (_, n) => tool(`t${n}`)) },
    9,
    /more than 512 tools/,
  ],
  ['4 MB of definitions', { tools: [tool('a')] }, 4_000_000, /over 1048576 bytes/],
  ['no list', { tools: {} }, 9, /without a list of tools/],
  ['nothing', null, 9, /without a list of tools/],
])('does not start a server that lists %s', (_what, result, bytes, why) => {
  const server = new Server().begins().answer(result, bytes);
  expect(server.handshakes).toEqual([expect.stringMatching(why)]);
});

it.each([{}, { tools: true }, { tools: null }, undefined])(
  'asks a server for its tools whatever it says of its capabilities: %j',
  (capabilities) => {
    const server = new Server();
    server.asked.shift()?.answered({ result: { protocolVersion: '2025-11-25', capabilities } }, 9);
    server.answer({ tools: [tool('a')] });
    expect(server.handshakes).toMatchObject([{ tools: [tool('a')] }]);
  },
);

it('does not start a server that knows no list of tools', () => {
  const server = new Server().begins();
  server.asked.shift()?.answered({ error: { code: -32601, message: 'Method not found' } }, 9);
  expect(server.handshakes).toEqual([expect.stringMatching(/without tools/)]);
});

it.each<[string, unknown, unknown]>([
  ['null', null, { name: '(null)' }],
  ['a text', 'go', { name: '("go")' }],
  ['a number', 5, { name: '(5)' }],
  ['a list', [1], { name: '([1])' }],
  ['a deep list', nested(50_000), { name: '((JSON of more than 1000 levels))' }],
  ['a deep schema', { ...tool('b'), inputSchema: nested(50_000) }, { name: 'b', inputSchema: tooDeep() }],
  ['a deep output', { ...tool('b'), outputSchema: nested(64) }, { ...tool('b'), outputSchema: tooDeep() }],
  [
    'a deep member that nobody reads',
    { ...tool('b'), _meta: nested(99) },
    { ...tool('b'), _meta: tooDeep() },
  ],
])('lists the others beside %s', (_what, item, read) => {
  const server = new Server().begins().answer({ tools: [tool('a'), item, tool('c')] });
  expect(server.handshakes).toMatchObject([{ tools: [tool('a'), read, tool('c')] }]);
});

it.each([null, '', 0, false])('ends with the cursor %j', (nextCursor) => {
  const server = new Server().begins().answer({ tools: [tool('a')], nextCursor });
  expect(server.handshakes).toMatchObject([{ tools: [tool('a')] }]);
});

it('does not read pages without end, nor many that are too much together', () => {
  const server = new Server().begins();
  for (let n = 0; n <= listLimits.pages; n++) server.answer({ tools: [], nextCursor: 'again' });
  expect(server.handshakes).toEqual([expect.stringMatching(/more than 64 pages/)]);
  const large = new Server().begins();
  for (let n = 0; n < 3; n++) large.answer({ tools: [], nextCursor: 'again' }, 400_000);
  expect(large.handshakes).toEqual([expect.stringMatching(/over 1048576 bytes/)]);
});

it('asks once more for what changed while it was asked, and pauses between', () => {
  const server = new Server().begins();
  for (let n = 0; n < 100; n++) server.handle(changed);
  expect(server.asked).toHaveLength(1);
  server.answer({ tools: [tool('a')] });
  for (let n = 0; n < 100; n++) server.handle(changed);
  expect(server.asked).toHaveLength(0);
  jest.advanceTimersByTime(1_000);
  expect(server.asked).toHaveLength(1);
  server.answer({ tools: [tool('b')] });
  jest.advanceTimersByTime(10_000);
  expect(server.asked).toHaveLength(0);
  expect(server.handshakes.map((handshake) => (handshake as Handshake).tools)).toEqual([
    [tool('a')],
    [tool('b')],
  ]);
});

it('asks a server that never stops saying so less and less often', () => {
  const server = new Server().begins().answer({ tools: [] });
  let lists = 0;
  for (let s = 0; s < 600; s++) {
    server.handle(changed);
    lists += server.asked.length;
    if (server.asked.length > 0) server.answer({ tools: [tool(`t${s}`)] });
    jest.advanceTimersByTime(1_000);
  }
  expect(lists).toBeLessThan(20);
});

it('serves roots and pings, and refuses the rest', () => {
  const { handle } = new Server();
  expect(handle({ id: 1, method: 'roots/list' })).toEqual({
    result: { roots: [{ uri: 'file:///srv/data%20dir', name: 'data dir' }] },
  });
  expect(handle({ id: 2, method: 'ping' })).toEqual({ result: {} });
  expect(handle({ id: 3, method: 'sampling/createMessage' })).toMatchObject({ error: { code: -32601 } });
  expect(handle({ method: 'notifications/whatever' })).toBeUndefined();
});

describe('a server that offers more than tools', () => {
  const begun = () => new Server().begins({ capabilities: { resources: {}, prompts: {} } });
  const asked = ({ asked: open }: Server) => open.map(({ method }) => method);

  it('lists all of it before it is ready', () => {
    const server = begun();
    expect(asked(server)).toEqual([
      'tools/list',
      'resources/list',
      'resources/templates/list',
      'prompts/list',
    ]);
    server.answer({ tools: [] }).answer({ resources: [{ uri: 'a:b' }] });
    server.answer({ resourceTemplates: [] }).answer({ prompts: [{ name: 'p' }] });
    expect(server.handshakes).toMatchObject([
      { tools: [], resources: [{ uri: 'a:b' }], resourceTemplates: [], prompts: [{ name: 'p' }] },
    ]);
  });

  it('needs no tools', () => {
    const server = begun();
    server.asked.shift()?.answered({ error: { code: -32601, message: 'Method not found' } }, 9);
    server.answer({ resources: [] }).answer({ resourceTemplates: [] }).answer({ prompts: [] });
    expect(server.handshakes).toMatchObject([{ tools: [] }]);
  });

  it('starts with its tools alone where it lists the rest wrongly, too much of it, or not in time', () => {
    const server = begun().answer({ tools: [tool('a')] });
    server.asked.shift()?.answered({ error: { code: -32603, message: 'not today' } }, 9);
    server.answer({ resourceTemplates: [{ uriTemplate: 'a:{b}' }] }, listLimits.bytes + 1);
    expect(server.handshakes).toEqual([]);
    jest.advanceTimersByTime(5_000);
    expect(server.handshakes).toMatchObject([{ tools: [tool('a')], resources: [], resourceTemplates: [] }]);
  });

  it('lists it again after a change of any list', () => {
    const server = begun().answer({ tools: [] }).answer({ resources: [] });
    server.answer({ resourceTemplates: [] }).answer({ prompts: [] });
    server.handle({ method: 'notifications/prompts/list_changed' });
    jest.advanceTimersByTime(60_000);
    expect(asked(server)).toContain('prompts/list');
  });
});

describe('a program that refuses initialize', () => {
  const refused = (code: number, data?: object): Reply => ({ error: { code, message: 'no', data } });
  const discovery = { supportedVersions: ['2026-07-28'], serverInfo: { name: 'new' }, capabilities: {} };

  it.each([-32600, -32601, -32602, -32020, -32022])(
    'with %i is asked whether it speaks the new era',
    (code) => {
      const server = new Server();
      server.asked.shift()?.answered(refused(code), 100);
      expect(server.asked).toMatchObject([{ method: 'server/discover' }]);
      server.answer({ ...discovery }).answer({ tools: [tool('a')] });
      expect(server.handshakes).toMatchObject([
        { name: 'new', protocolVersion: '2026-07-28', tools: [tool('a')] },
      ]);
      expect(server.notified).toEqual([]);
    },
  );

  it.each<[string, Reply | undefined]>([
    ['an error', refused(-32601)],
    ['older revisions', { result: { supportedVersions: ['2025-11-25'] } }],
    ['nothing', undefined],
  ])('and answers %s to server/discover has failed for its first words', (_what, reply) => {
    const server = new Server();
    server.asked.shift()?.answered(refused(-32022, { supported: ['2030-01-01'] }), 100);
    const asked = server.asked.shift();
    if (reply) asked?.answered(reply, 100);
    else jest.advanceTimersByTime(4_000);
    expect(server.handshakes).toEqual([
      'It answered "initialize" with error -32022: no (it speaks ["2030-01-01"])',
    ]);
  });

  it('for another reason is not asked anything else', () => {
    const server = new Server();
    server.asked.shift()?.answered(refused(-32603), 100);
    expect(server.asked).toEqual([]);
    expect(server.handshakes).toHaveLength(1);
  });
});

it('a server of the new era is told in each request what a session says once, and the next session begins so', () => {
  const peer = newPeer('modern');
  const first = new Server(peer);
  first.answer({ supportedVersions: ['2026-07-28'] }).answer({ tools: [] });
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const called = first.session.outgoing?.('1', 'tools/call', { name: 'a', _meta: { progressToken: 'p' } });
  expect(called).toMatchObject({
    method: 'tools/call',
    params: { name: 'a', _meta: { ...meta, progressToken: 'p' } },
  });
  expect(first.session.outgoing?.('2', 'ping', {})).toMatchObject({
    method: 'server/discover',
    params: { _meta: meta },
  });
  const old = new Server(peer);
  old.asked.shift()?.answered({ error: { code: -32601, message: 'no' } }, 100);
  old.begins().answer({ tools: [] });
  expect(old.session.outgoing?.('3', 'tools/call', { name: 'a' })).toBeUndefined();
  expect(new Server(peer).asked).toMatchObject([{ method: 'initialize' }]);
});
