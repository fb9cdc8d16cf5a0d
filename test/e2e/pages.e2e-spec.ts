import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
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
  it('is answered by it', async () => {
    const tab = await open(ann);
    const { ended, asked } = await asking(tab, 'navigate_to', { input: { url: '/traces' } });
    expect(asked).toMatchObject({ input: { url: '/traces' }, by: null });
    expect(new Date(asked.deadline).getTime()).toBeGreaterThan(Date.now());
    expect(await tab.answer(asked.callId, { success: true, url: '/traces' })).toBe(204);
    const { status, body } = await ended;
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        executionId: asked.callId,
        status: 'success',
        result: { success: true, url: '/traces' },
      }),
    ]);
  });
});
