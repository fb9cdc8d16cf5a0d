import { randomUUID } from 'node:crypto';
import { bearer } from '../support/admin-key.js';
import { agentsPageBlocks, runBlock } from '../support/agents-page.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { mapLimit } from '../support/map-limit.js';
import { startScriptedModel } from '../support/scripted-model.js';
import { Tab, type UiCall } from '../support/tab.js';
import { until } from '../support/wait.js';

// real: two servers on one database, HTTP, streams; mock: the pages, which are clients written here

let tk: TestApp;
/** Another replica. */
let other: TestApp;
let ann: Caller;
let bob: Caller;

interface Caller {
  readonly id: string;
  readonly key: { readonly authorization: string };
}

const all = ['get_current_page', 'navigate_to', 'get_collapsed_spans', 'run_experiment'];

beforeAll(async () => {
  tk = await startApp();
  other = await startApp({ DATABASE_URL: tk.db.url });
  [ann, bob] = [await newKey('ann'), await newKey('bob')];
  await until(async () => (await call(ann, 'disk_usage', {}, other)).status !== 401, { what: 'the keys' });
});
afterAll(async () => {
  await other.close();
  await tk.close();
});

async function newKey(name: string): Promise<Caller> {
  const made = await tk.http.post('/api/v1/keys').send({ name, scopes: ['tools:call', 'metrics:read'] });
  const { id, key } = made.body as { id: string; key: string };
  return { id, key: bearer(key) };
}

interface Called {
  readonly status: number;
  readonly body: Json;
}

async function call(
  { key }: Pick<Caller, 'key'>,
  tool: string,
  { uiSession, input = {}, timeoutMs }: { uiSession?: string; input?: object; timeoutMs?: number },
  app = tk,
): Promise<Called> {
  const answer = await fetch(`${app.url}/api/v1/tools/${tool}/execute`, {
    method: 'POST',
    headers: { ...key, 'content-type': 'application/json' },
    body: JSON.stringify({ input, context: { uiSession, timeoutMs } }),
  });
  return { status: answer.status, body: (await answer.json()) as Json };
}

/** Answers every call with what it was asked and who asked, until the end of the test. */
function echo(tab: Tab): void {
  const answered = new Set<string>();
  const timer = setInterval(() => {
    for (const { callId, input } of tab.calls) {
      if (answered.has(callId)) continue;
      answered.add(callId);
      void tab.answer(callId, { tab: tab.id, input });
    }
  }, 5);
  timers.push(timer);
}
const timers: NodeJS.Timeout[] = [];
const tabs: Tab[] = [];
const open = async (caller: Caller, offers = all, app = tk): Promise<Tab> => {
  const tab = await Tab.open(app.url, caller.key, offers);
  tabs.push(tab);
  return tab;
};
afterEach(() => {
  timers.splice(0).forEach(clearInterval);
  tabs.splice(0).forEach((tab) => tab.leave());
});

/** A call that waits for its page, and what its page was asked. */
async function asking(
  tab: Tab,
  tool: string,
  how: { by?: Caller; input?: object; timeoutMs?: number } = {},
): Promise<{ ended: Promise<Called>; asked: UiCall }> {
  const ended = call(how.by ?? ann, tool, { uiSession: tab.id, ...how });
  const asked = await Promise.race([tab.asked(tool), ended.then(({ body }) => body as never)]);
  return { ended, asked };
}

describe('a call of a page', () => {
  it('is answered by it, and is an execution with the id of the call', async () => {
    const tab = await open(ann);
    const { ended, asked } = await asking(tab, 'navigate_to', { input: { url: '/traces' } });
    expect(asked).toMatchObject({ input: { url: '/traces' }, by: null });
    expect(new Date(asked.deadline).getTime()).toBeGreaterThan(Date.now());
    expect(await tab.answer(asked.callId, { success: true, url: '/traces' })).toBe(204);
    const { status, body } = await ended;
    expect(status).toBe(200);
    expect(body).toMatchObject({
      executionId: asked.callId,
      status: 'success',
      result: { success: true, url: '/traces' },
    });
  });

  it('takes the first answer: the same again is fine, another is not, a late one is over', async () => {
    const tab = await open(ann);
    const { ended, asked } = await asking(tab, 'get_current_page');
    expect(await tab.answer(asked.callId, { a: 1 })).toBe(204);
    expect(await tab.answer(asked.callId, { a: 1 })).toBe(204);
    expect(await tab.answer(asked.callId, { a: 2 })).toBe(409);
    expect((await ended).body.result).toEqual({ a: 1 });
    const late = await asking(tab, 'navigate_to', { input: { url: '/tools' }, timeoutMs: 400 });
    expect((await late.ended).body.status).toBe('timeout');
    await until(() => tab.cancelled.includes(late.asked.callId), { what: 'the page to be told' });
    expect(await tab.answer(late.asked.callId, {})).toBe(410);
  });

  it('takes no answer from another caller, for another session or for a call that there is not', async () => {
    const [tab, second, foreign] = [await open(ann), await open(ann), await open(bob)];
    const { ended, asked } = await asking(tab, 'get_current_page');
    expect(await tab.at(tk.url, bob.key).answer(asked.callId, 'forged')).toBe(404);
    expect(await foreign.answer(asked.callId, 'forged')).toBe(404);
    expect(await second.answer(asked.callId, 'forged')).toBe(404);
    expect(await tab.answer(randomUUID(), 'forged')).toBe(404);
    expect(await tab.answer(asked.callId, 'own')).toBe(204);
    expect((await ended).body.result).toBe('own');
  });

  it('ends with the error that the page reports, which is no fault of the tool', async () => {
    const tab = await open(ann);
    for (let n = 0; n < 6; n += 1) {
      const { ended, asked } = await asking(tab, 'get_collapsed_spans');
      const error = { type: 'tool_error', message: 'No trace is open' };
      expect(await tab.send('POST', `answers/${asked.callId}`, { ok: false, error })).toBe(204);
      expect((await ended).body.error).toMatchObject(error);
      tab.calls.length = 0;
    }
    const { body } = await tk.http.get('/api/v1/tool-health/get_collapsed_spans/circuit').expect(200);
    expect(body.state).toBe('closed');
  });

  it('times out if the page is silent: that is recorded, and its circuit stays closed', async () => {
    const tab = await open(ann);
    const calls = Array.from({ length: 6 }, () =>
      call(ann, 'get_current_page', { uiSession: tab.id, timeoutMs: 300 }),
    );
    for (const { body } of await Promise.all(calls)) expect(body.status).toBe('timeout');
    const { body } = await tk.http.get('/api/v1/tool-health/get_current_page/circuit').expect(200);
    expect(body.state).toBe('closed');
    await until(
      async () => {
        const { body: page } = await tk.http.get(
          '/api/v1/tool-metrics/executions?tool=get_current_page&status=timeout',
        );
        return page.data.length === 6;
      },
      { what: 'the executions' },
    );
  });
});

describe('a call that reaches no page', () => {
  it.each([
    ['that names none', {}],
    ['that names one which there is not', { uiSession: 'uis_AAAAAAAAAAAAAAAAAAAAAA' }],
  ])('%s is refused with what to do', async (_which, where) => {
    const { status, body } = await call(ann, 'get_current_page', where);
    expect([status, body.code]).toEqual([409, 'ui_not_connected']);
    expect(body.detail).toContain('/console/');
  });

  it('is refused soon after the tab was closed, and is no execution', async () => {
    const tab = await open(ann, ['get_experiment_data']);
    tab.leave();
    const streams = 'SELECT 1 FROM ui_sessions WHERE id = $1 AND stream_id IS NULL';
    const isGone = async (): Promise<boolean> =>
      (await tk.db.dataSource.query<object[]>(streams, [tab.id])).length > 0;
    await until(isGone, { what: 'the server to see that the tab left' });
    const { status, body } = await call(ann, 'get_experiment_data', { uiSession: tab.id });
    expect([status, body.code]).toEqual([409, 'ui_not_connected']);
    const executions = await tk.http.get('/api/v1/tool-metrics/executions?tool=get_experiment_data');
    expect(executions.body.data).toEqual([]);
  });

  it('waits for a tab that loads anew', async () => {
    const tab = await open(ann);
    tab.leave();
    const ended = call(ann, 'get_current_page', { uiSession: tab.id });
    expect(await tab.listen()).toBe(200);
    echo(tab);
    expect((await ended).body.status).toBe('success');
  });

  it('is told which tool leads to the screen that answers it', async () => {
    const tab = await open(ann, ['navigate_to']);
    const { status, body } = await call(ann, 'get_experiment_data', { uiSession: tab.id });
    expect([status, body.code]).toEqual([409, 'ui_not_available']);
    expect(body.detail).toContain('navigate_to_experiment');
    expect(await tab.show('/experiments/new', ['get_experiment_data'])).toBe(204);
    echo(tab);
    expect((await call(ann, 'get_experiment_data', { uiSession: tab.id })).body.status).toBe('success');
  });
});

describe('a session', () => {
  it("is its own caller's: others can neither follow it nor report nor grant", async () => {
    const tab = await open(ann);
    const forged = tab.at(tk.url, bob.key);
    expect(await forged.listen()).toBe(404);
    expect(await forged.show('/x', [])).toBe(404);
    expect(await forged.send('PUT', `grants/${bob.id}`)).toBe(404);
    expect(await forged.send('DELETE', `grants/${bob.id}`)).toBe(404);
  });

  it('names the wrong field', async () => {
    const tab = await open(ann);
    expect(await tab.show('/x', [], { text: 'x'.repeat(20_000) })).toBe(400);
    expect(await tab.send('PUT', 'page', { route: '/x' })).toBe(400);
  });

  it('has one stream: a tab that was duplicated ends the stream of the first', async () => {
    const tab = await open(ann);
    const twin = tab.at(tk.url);
    tabs.push(twin);
    expect(await twin.listen()).toBe(200);
    await until(() => tab.closed === 1, { what: 'the first stream to end' });
    const { asked } = await asking(twin, 'get_current_page');
    expect(await twin.answer(asked.callId, {})).toBe(204);
  });
});

describe('two tabs of two callers', () => {
  it('each get their own answers of 400 interleaved calls, on two replicas', async () => {
    const four = await Promise.all([open(ann), open(ann), open(bob, all, other), open(bob)]);
    four.forEach(echo);
    const calls = Array.from({ length: 400 }, (_, n) => ({
      n,
      tab: four[n % 4],
      caller: n % 4 < 2 ? ann : bob,
    }));
    await mapLimit(calls, 16, async ({ n, tab, caller }) => {
      const how = { uiSession: tab?.id ?? '', input: { url: `/traces/${n}` } };
      const { body } = await call(caller, 'navigate_to', how, n % 8 < 4 ? tk : other);
      expect(body.result).toEqual({ tab: tab?.id, input: how.input });
    });
    expect(four.map((tab) => tab.calls.length)).toEqual([100, 100, 100, 100]);
  }, 60_000);
});

describe('a tab that goes away in mid-call', () => {
  it('closed: the call is interrupted long before its deadline', async () => {
    const tab = await open(ann);
    const { ended } = await asking(tab, 'run_experiment');
    tab.leave();
    const { body } = await ended;
    expect(body.error).toMatchObject({ type: 'interrupted', message: expect.stringContaining('closed') });
    expect(body.executionTimeMs).toBeLessThan(30_000);
  }, 60_000);

  it('at another replica, it is asked there again and answers', async () => {
    const tab = await open(ann);
    const { ended, asked } = await asking(tab, 'run_experiment');
    tab.leave();
    const moved = tab.at(other.url);
    tabs.push(moved);
    expect(await moved.listen()).toBe(200);
    expect((await moved.asked('run_experiment')).callId).toBe(asked.callId);
    expect(await moved.answer(asked.callId, { moved: true })).toBe(204);
    expect((await ended).body.result).toEqual({ moved: true });
  });

  it('with a stream that is cut every 200 ms, loses no call', async () => {
    const tab = await open(ann);
    echo(tab);
    let cuts = 0;
    const cut = setInterval(() => {
      cuts += 1;
      // A stream may be cut before it is open.
      void tab.listen().catch(() => undefined);
    }, 200);
    timers.push(cut);
    let calls = 0;
    for (; cuts < 8; calls += 1) {
      const { body } = await call(ann, 'get_current_page', { uiSession: tab.id });
      expect(body.status).toBe('success');
    }
    expect(tab.calls).toHaveLength(calls);
  }, 60_000);
});

describe('another key', () => {
  it('acts on a page once its user has agreed, and not after they took it back', async () => {
    const tab = await open(ann);
    const byBob = (): Promise<Called> => call(bob, 'get_current_page', { uiSession: tab.id });
    for (let n = 0; n < 2; n += 1)
      expect(await byBob()).toMatchObject({ status: 409, body: { code: 'ui_not_granted' } });
    await until(() => tab.grants.length === 1, { what: 'the page to be asked' });
    expect(tab.grants[0]).toMatchObject({ id: bob.id, name: 'bob', status: 'asked' });
    expect(tab.calls).toEqual([]);

    expect(await tab.send('PUT', `grants/${bob.id}`)).toBe(204);
    await until(() => tab.grants[0]?.status === 'granted', { what: 'the page to see the grant' });
    const minutes = (new Date(tab.grants[0]?.until ?? 0).getTime() - Date.now()) / 60_000;
    expect(Math.round(minutes)).toBe(30);
    const { ended, asked } = await asking(tab, 'get_current_page', { by: bob });
    expect(asked.by).toEqual({ id: bob.id, name: 'bob' });
    expect(await tab.answer(asked.callId, { route: '/' })).toBe(204);
    expect((await ended).body.result).toEqual({ route: '/' });

    const running = await asking(tab, 'run_experiment', { by: bob });
    expect(await tab.send('DELETE', `grants/${bob.id}`)).toBe(204);
    expect((await running.ended).body.error).toMatchObject({ type: 'interrupted' });
    await until(() => tab.cancelled.includes(running.asked.callId), { what: 'the page to be told' });
    const refused = await byBob();
    expect(refused).toMatchObject({ status: 409, body: { code: 'ui_not_granted' } });
    expect(refused.body.detail).toContain('does not let');
  });

  it('loses its leave when that is over', async () => {
    const tab = await open(ann);
    await call(bob, 'get_current_page', { uiSession: tab.id });
    expect(await tab.send('PUT', `grants/${bob.id}`)).toBe(204);
    await tk.db.dataSource.query(
      `UPDATE ui_sessions SET grants = jsonb_set(grants, ARRAY[$2::text, 'until'], to_jsonb(now() - interval '1 s')) WHERE id = $1`,
      [tab.id, bob.id],
    );
    const { body } = await call(bob, 'get_current_page', { uiSession: tab.id });
    expect(body.code).toBe('ui_not_granted');
  });

  it('may ask although many others asked long ago', async () => {
    const tab = await open(ann);
    await tk.db.dataSource.query(
      `UPDATE ui_sessions SET grants = (
         SELECT jsonb_object_agg('key-' || n, jsonb_build_object(
           'name', 'another', 'status', 'asked', 'until', now() - interval '1 s'))
         FROM generate_series(1, 20) AS n)
       WHERE id = $1`,
      [tab.id],
    );
    expect((await call(bob, 'get_current_page', { uiSession: tab.id })).body.code).toBe('ui_not_granted');
    await until(() => tab.grants.some(({ id }) => id === bob.id), { what: 'the page to be asked' });
  });

  it('of a page that nobody asked for cannot be let in', async () => {
    const tab = await open(ann);
    expect(await tab.send('PUT', `grants/${bob.id}`)).toBe(404);
  });
});

describe('over MCP', () => {
  /** @param where the page is named */
  const mcpCall = async (
    { key }: Caller,
    { _meta, ...headers }: { _meta?: object; 'x-ui-session'?: string },
  ): Promise<Json> => {
    const params = { name: 'get_current_page', arguments: {}, _meta };
    const answer = await fetch(`${other.url}/mcp`, {
      method: 'POST',
      headers: { ...key, ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    return ((await answer.json()) as Json).result;
  };

  it("a client drives a page with its user's leave, and is refused without", async () => {
    const tab = await open(ann);
    echo(tab);
    const byMeta = { _meta: { 'toolkeeper/uiSession': tab.id } };
    const refused = await mcpCall(bob, byMeta);
    expect(refused.isError).toBe(true);
    expect(refused._meta['toolkeeper/problem'].code).toBe('ui_not_granted');
    expect(await tab.send('PUT', `grants/${bob.id}`)).toBe(204);
    for (const where of [byMeta, { 'x-ui-session': tab.id }]) {
      const { structuredContent, isError } = await mcpCall(bob, where);
      expect([isError ?? false, structuredContent]).toEqual([false, { tab: tab.id, input: {} }]);
    }
  });
});

describe('the tools of a page', () => {
  const seed = {
    get_collapsed_spans: [],
    is_valid_for_optimize: ['spanId'],
    navigate_to: ['url'],
    navigate_to_experiment: ['spanId'],
    apply_label_filter: [],
    get_experiment_data: [],
    apply_experiment_data: ['data'],
    run_experiment: [],
    evaluate_experiment_results: [],
  };

  it.each(['openai', 'anthropic', 'mcp', 'distri', 'holmes'])(
    "have the seed's names and parameters as %s",
    async (format) => {
      const { body } = await tk.http.get(`/api/v1/tools?format=${format}&kind=builtin,ui`).expect(200);
      const text = JSON.stringify(body);
      for (const name of Object.keys(seed)) expect(text).toContain(`"${name}"`);
    },
  );

  it("wait as long as the seed's: 60 s for a run, 5 s for everything else", async () => {
    const { body } = await tk.http.get('/api/v1/tools?kind=ui').expect(200);
    const tools: Json[] = body.data.filter(({ kind }: Json) => kind === 'ui');
    const timeouts = Object.fromEntries(tools.map(({ name, timeoutMs }) => [name, timeoutMs]));
    expect(timeouts).toEqual({
      ...Object.fromEntries(tools.map(({ name }) => [name, 5_000])),
      run_experiment: 60_000,
    });
    expect(Object.keys(timeouts)).toHaveLength(10);
    for (const { name, inputSchema } of tools)
      expect([name, inputSchema.required ?? []]).toEqual([
        name,
        { ...seed, highlight_spans: ['spanIds'], get_current_page: [] }[name as 'navigate_to'],
      ]);
  });

  it('label filters default to set', async () => {
    const tab = await open(ann, ['apply_label_filter']);
    const { ended, asked } = await asking(tab, 'apply_label_filter', { input: { labels: ['flight'] } });
    expect(asked.input).toEqual({ labels: ['flight'], action: 'set' });
    await tab.answer(asked.callId, { success: true });
    await ended;
  });
});

describe('a page that embeds a chat of Distri', () => {
  /** A chat with the shape of Distri's: it hands the model's calls to the handlers of its external tools, which answer JSON text. */
  const chat = (task: string, base: string, uiSession: string): string => `
    import OpenAI from 'openai';
    const externalTools = await toolkeeperTools(url, headers, ${JSON.stringify({ uiSession })});
    const shapes = new Set(externalTools.map((tool) => [...Object.keys(tool), tool.type, tool.parameters.type].sort().join()));
    const openai = new OpenAI({ apiKey: 'none', baseURL: '${base}/v1' });
    const messages = [{ role: 'user', content: ${JSON.stringify(task)} }];
    const tools = externalTools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } }));
    const ask = async () => (await openai.chat.completions.create({ model: 'scripted', messages, tools })).choices[0].message;
    const message = await ask();
    const [{ id, function: called }] = message.tool_calls;
    const content = await externalTools.find(({ name }) => name === called.name).handler(JSON.parse(called.arguments));
    messages.push(message, { role: 'tool', tool_call_id: id, content });
    console.log(JSON.stringify({ shapes: [...shapes], names: externalTools.map(({ name }) => name), called, content, said: (await ask()).content }));`;

  it('gets the same tools by the documented adapter, and a model moves the page with them', async () => {
    const model = await startScriptedModel();
    const tab = await open(ann);
    echo(tab);
    const [block = ''] = agentsPageBlocks('pages.md');
    const run = async (task: string): Promise<Json> =>
      JSON.parse(await runBlock(block, { url: tk.url, key: ann.key, after: chat(task, model.url, tab.id) }));
    const { shapes, names, called, content, said } = await run('Open the screen of the console, url /traces');
    const listed = await tk.anonymous
      .get('/api/v1/tools?limit=1000')
      .set({ ...ann.key, 'x-ui-session': tab.id })
      .expect(200);
    expect(names.sort()).toEqual(listed.body.data.map(({ name }: Json) => name).sort());
    expect(shapes).toEqual(['description,function,handler,name,object,parameters,type']);
    expect(called.name).toBe('navigate_to');
    const result = { success: true, tab: tab.id, input: { url: '/traces' } };
    expect(JSON.parse(content)).toEqual(result);
    expect(said).toContain(JSON.stringify(result));
    const failed = await run('Open the screen of the console');
    expect(JSON.parse(failed.content)).toEqual({ success: false, error: expect.stringContaining('url') });
    await model.close();
  });
});
