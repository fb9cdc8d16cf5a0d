import { toolFormatNames } from '../../src/call/platforms/tool-formats.js';
import { ToolRegistry } from '../../src/call/door/tool-registry.js';
import { defineTool } from '../../src/web/contract/define-tool.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { Tab } from '../support/tab.js';
import { until } from '../support/wait.js';

// real: two servers on one database, HTTP, streams; mock: the page, which is a client written here

let tk: TestApp;
/** Another replica. */
let other: TestApp;
beforeAll(async () => {
  tk = await startApp();
  other = await startApp({ DATABASE_URL: tk.db.url });
});
afterAll(async () => {
  await other.close();
  await tk.close();
});

type Key = TestApp['key'];
const nameOf = (tool: Json): string => tool.name ?? tool.function.name;

async function list(query = '', headers: Record<string, string> = { ...tk.key }, app = tk): Promise<Json> {
  const { body } = await app.anonymous.get(`/api/v1/tools${query}`).set(headers).expect(200);
  return { ...body, names: body.data.map(nameOf) };
}

async function mcpNames(params: object, headers: Record<string, string>): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { ...params, cursor } };
    const { body } = await tk.anonymous.post('/mcp').set(headers).send(message).expect(200);
    names.push(...body.result.tools.map(nameOf));
    if (body.result.nextCursor === undefined) return names;
    cursor = body.result.nextCursor;
  }
}

async function newKey(settings: object = {}): Promise<Key> {
  const made = await tk.http.post('/api/v1/keys').send({ name: 'k', scopes: ['tools:call'], ...settings });
  const key = bearer(made.body.key);
  await until(async () => (await other.anonymous.get('/api/v1/tools').set(key)).status === 200, {
    what: 'the key',
  });
  return key;
}

describe('tools of a page', () => {
  const ofPages = ['get_current_page', 'navigate_to', 'run_experiment'];
  const showsThem = (names: string[]): boolean => {
    const shown = ofPages.filter((name) => names.includes(name));
    expect([0, ofPages.length]).toContain(shown.length);
    return shown.length > 0;
  };
  const found = async (context: object, key: Key): Promise<string[]> => {
    const asked = { input: { query: 'open a screen of the console' }, context };
    const { body } = await tk.anonymous.post('/api/v1/tools/find_tools/execute').set(key).send(asked);
    return body.result.tools.map(nameOf);
  };

  /** Each way to list tools, for a caller that names this page in the way's own manner. */
  const ways: Record<string, (key: Key, uiSession?: string) => Promise<string[]>> = {
    REST: async (key, page) =>
      (await list('?limit=1000', { ...key, ...(page && { 'x-ui-session': page }) })).names,
    ...Object.fromEntries(
      toolFormatNames.map((format) => [
        format,
        async (key: Key, page?: string) =>
          (await list(`?format=${format}`, { ...key, ...(page && { 'x-ui-session': page }) })).names,
      ]),
    ),
    query: async (key, page) =>
      (await list('?query=page screen run', { ...key, ...(page && { 'x-ui-session': page }) })).names,
    'MCP, header': (key, page) => mcpNames({}, { ...key, ...(page && { 'x-ui-session': page }) }),
    'MCP, _meta': (key, page) =>
      mcpNames(page === undefined ? {} : { _meta: { 'toolkeeper/uiSession': page } }, { ...key }),
  };

  it.each(Object.keys(ways))(
    '%s lists them for a caller that names a page, and for no other',
    async (way) => {
      const key = await newKey();
      const names = ways[way]!;
      expect(showsThem(await names(key))).toBe(false);
      expect(showsThem(await names(key, 'uis_any'))).toBe(true);
    },
  );

  it('find_tools finds them for a call that names a page, and for no other', async () => {
    const key = await newKey();
    expect(await found({}, key)).not.toContain('navigate_to');
    expect(await found({ uiSession: 'uis_any' }, key)).toContain('navigate_to');
  });

  it('are listed at all replicas while their caller has a page open, and not for others', async () => {
    const [key, stranger] = [await newKey(), await newKey()];
    const shown = async (who: Key, app: TestApp) =>
      showsThem((await list('?format=openai', { ...who }, app)).names);
    const tab = await Tab.open(tk.url, key, ['navigate_to']);
    for (const app of [tk, other]) await until(() => shown(key, app), { what: 'the page to be known' });
    expect(await found({}, key)).toContain('navigate_to');
    expect(await shown(stranger, tk)).toBe(false);
    tab.leave();
    for (const app of [tk, other])
      await until(async () => !(await shown(key, app)), { what: 'the page to be gone' });
  });

  it('are listed for who asks for their kind, alone or beside others', async () => {
    const ui = await list('?kind=ui');
    expect(ui.data.map(({ kind }: Json) => kind)).toEqual(ui.data.map(() => 'ui'));
    expect(ui.data).toHaveLength(10);
    expect(showsThem((await list('?kind=ui&format=anthropic')).names)).toBe(true);
    const kinds = new Set((await list('?kind=builtin,ui&limit=1000')).data.map(({ kind }: Json) => kind));
    expect([...kinds].sort()).toEqual(['builtin', 'ui']);
    expect(showsThem((await list('?kind=builtin&limit=1000')).names)).toBe(false);
    await tk.http.get('/api/v1/tools?kind=pages').expect(400, /"pointer":"\/kind/);
  });

  it('are for none whose key may not call them, whatever it names', async () => {
    const key = await newKey({ tools: ['find_tools'] });
    const headers = { ...key, 'x-ui-session': 'uis_any' };
    for (const query of ['', '?kind=ui,builtin', '?format=mcp'])
      expect((await list(query, headers)).names).toEqual(['find_tools']);
  });

  it('can be read and are called as before, listed or not', async () => {
    await tk.http.get('/api/v1/tools/navigate_to').expect(200);
    await tk.call('navigate_to', { url: '/traces' }).expect(409, /ui_not_connected/);
  });

  it.each([null, {}, { 'toolkeeper/uiSession': 7 }])(
    'MCP takes a _meta that names none: %j',
    async (_meta) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } };
      const { body } = await tk.http.post('/mcp').send(message).expect(200);
      expect(showsThem(body.result.tools.map(nameOf))).toBe(false);
    },
  );
});

describe.each([204, 2_001])('among %p tools', (size) => {
  let expected: string[];
  beforeAll(() => {
    const registry = tk.app.get(ToolRegistry);
    const listed = registry.all().filter(({ definition }) => definition.kind !== 'ui');
    for (let n = listed.length; n < size; n++)
      registry.register(
        defineTool({
          name: `m_${String(n).padStart(5, '0')}`,
          description: `Does the job number ${n}`,
          input: {
            type: 'object',
            properties: { id: { type: 'string', description: 'Which one' }, limit: { type: 'integer' } },
            required: ['id'],
          },
          annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
          run: async () => n,
        }),
      );
    const names = registry.all().filter(({ definition }) => definition.kind !== 'ui');
    expected = names.map(({ definition }) => definition.name);
    expect(expected).toHaveLength(size);
  });

  it.each(toolFormatNames)('%s answers all of them', async (format) => {
    const { names, nextCursor } = await list(`?format=${format}`);
    expect(names).toEqual(expected);
    expect(nextCursor).toBeNull();
  });

  it.each(['', '&strict=true'])('openai%s answers within two seconds', async (more) => {
    const began = performance.now();
    await list(`?format=openai${more}`);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it('cuts pages where they are asked for', async () => {
    const [page, first] = [await list('?format=openai&limit=7'), await list()];
    expect(page.names).toEqual(expected.slice(0, 7));
    const rest = await list(`?format=openai&cursor=${page.nextCursor}`);
    expect(rest.names).toEqual(expected.slice(7, 107));
    // Without a format the list is one for people and programs that page.
    expect(first.names).toEqual(expected.slice(0, 100));
    expect(first.nextCursor).not.toBeNull();
  });

  it('over MCP lists all of them, page by page', async () => {
    expect(await mcpNames({}, { ...tk.key })).toEqual(expected);
  });
});
