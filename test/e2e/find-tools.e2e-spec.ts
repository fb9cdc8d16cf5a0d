import { builtinToolNames } from '../../src/base/config/builtin-settings.js';
import { ToolRegistry } from '../../src/call/door/tool-registry.js';
import { defineTool } from '../../src/web/contract/define-tool.js';
import { answered, manyTools, unanswered } from '../eval/tool-queries.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { mapLimit } from '../support/map-limit.js';

// real: the whole server with its built-in tools, HTTP; mock: nothing

interface Found {
  readonly tools: readonly { readonly name: string }[];
  readonly total: number;
  readonly moreWithSameScore: number;
  readonly note?: string;
}

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp({
    BUILTIN_TOOLS: builtinToolNames.join(),
    WEB_SEARCH_URL: 'searxng+http://127.0.0.1:9',
    SMTP_URL: 'smtp://127.0.0.1:9?from=agent@example.com',
    SEND_WEBHOOK_SECRET: 'a secret of some length',
    INVESTIGATION_CALLS_PER_TOOL: '0',
  });
  const registry = tk.app.get(ToolRegistry);
  for (const { name, description, readOnly } of manyTools)
    registry.register(
      defineTool({
        ...{ name, description, input: {}, tags: [], run: async () => name },
        annotations: { readOnly, idempotent: true, destructive: !readOnly, openWorld: false },
      }),
    );
});
afterAll(() => tk.close());

const find = async (query: string, limit?: number): Promise<Found> =>
  (await tk.call('find_tools', { query, limit }).expect(200)).body.result;
const namesFor = async (query: string, limit?: number): Promise<string[]> =>
  (await find(query, limit)).tools.map(({ name }) => name);

describe('find_tools among 150 tools and the built-in ones', () => {
  it('shows the right tool among the first five', async () => {
    expect([manyTools.length, answered.length >= 60, unanswered.length >= 20]).toEqual([150, true, true]);
    const missed: string[] = [];
    await mapLimit(answered, 4, async ([query, tool]) => {
      const names = await namesFor(query);
      if (!names.includes(tool)) missed.push(`${query}: ${names.join()} without ${tool}`);
    });
    // 74 of 76 when the threshold was chosen.
    expect(missed.slice(2)).toEqual([]);
  });

  it('shows nothing if nothing fits', async () => {
    const wrong: string[] = [];
    await mapLimit(unanswered, 4, async (query) => {
      const { tools, total, note } = await find(query);
      if (tools.length > 0) wrong.push(`${query}: ${tools.map(({ name }) => name).join()}`);
      else expect([total, note]).toEqual([0, expect.stringMatching(/^Nothing fits: /)]);
    });
    // 25 of 26 when the threshold was chosen.
    expect(wrong.slice(1)).toEqual([]);
  });

  it.each([
    ['which customers do we have', 'list_customers', 'delete_customers'],
    ['renew an expired TLS cert', 'rotate_certificates', 'delete_certificates'],
  ])('%s: %s comes before %s', async (query, wanted, other) => {
    const names = await namesFor(query, 20);
    expect(names.slice(0, 5)).toContain(wanted);
    expect([...names, other].indexOf(other)).toBeGreaterThan(names.indexOf(wanted));
  });

  it('does not show tools for a disk', async () => {
    expect(await find('how much free space is on the disk')).toEqual({
      tools: [],
      total: 0,
      moreWithSameScore: 0,
      note: expect.stringMatching(/^Nothing fits: /),
    });
  });
});

describe('equal scores', () => {
  const isReader = new Map(manyTools.map(({ name, readOnly }) => [name, readOnly]));

  it('have the tools that only read first, then the others, each by name', async () => {
    const names = await namesFor('tickets', 20);
    const readers = names.filter((name) => isReader.get(name));
    expect(readers).toHaveLength(4);
    expect(names.slice(0, 4)).toEqual(readers);
    expect(readers).toEqual(readers.toSorted());
  });

  it('are counted beyond the last that is shown', async () => {
    const all = await find('tickets', 20);
    const { tools, total, moreWithSameScore } = await find('tickets', 3);
    expect([tools.length, total, moreWithSameScore]).toEqual([3, all.total, 7]);
    expect([all.moreWithSameScore, all.note]).toEqual([0, undefined]);
  });

  it('have the tools that were used before those that were not, by both ways of searching', async () => {
    await tk.call('list_orders').expect(200);
    await tk.call('update_orders').expect(200);
    for (let n = 0; n < 12; n++) await tk.call('rotate_orders').expect(200);
    const first = ['list_orders', 'audit_orders', 'describe_orders', 'export_orders', 'rotate_orders'];
    const wanted = [...first, 'update_orders', 'archive_orders'];
    expect(await namesFor('orders', 7)).toEqual(wanted);
    const { body } = await tk.http.get('/api/v1/tools?query=orders&limit=7').expect(200);
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(wanted);
  });

  it('that are cut into pages lose no tool and repeat none', async () => {
    const whole = await tk.http.get('/api/v1/tools?query=orders&limit=1000').expect(200);
    const names: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const more: string = cursor && `&cursor=${cursor}`;
      const { body }: Json = await tk.http.get(`/api/v1/tools?query=orders&limit=3${more}`).expect(200);
      names.push(...body.data.map(({ name }: { name: string }) => name));
      cursor = body.nextCursor;
    }
    expect(names).toEqual(whole.body.data.map(({ name }: { name: string }) => name));
  });
});
