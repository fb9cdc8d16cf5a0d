import { ToolEvents } from '../../src/base/streams/tool-events.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

// Real: two servers on one database. The second one starts from what the first one wrote, as after a crash.

let tk: TestApp;
let restarted: TestApp | undefined;

beforeEach(async () => {
  tk = await startApp({}, { events: { kept: 5 } });
});
afterEach(async () => {
  await restarted?.close();
  restarted = undefined;
  await tk.close();
});

async function restart(): Promise<TestApp> {
  restarted = await startApp({ DATABASE_URL: tk.db.url }, { events: { kept: 5 } });
  return restarted;
}

describe('after a restart', () => {
  const say = (app: TestApp, message: string): void =>
    app.app.get(ToolEvents).publish({ type: 'tool.failed', tool: 'search', message, data: { to: 1, b: 2 } });
  const page = async (of: TestApp, query = ''): Promise<Json> =>
    (await of.http.get(`/api/v1/events?tool=search${query}`).expect(200)).body;
  const messages = ({ data }: Json): string[] => data.map(({ message }: Json) => message);

  it('the newest events are read again, byte for byte, and a reader goes on where it was', async () => {
    for (let n = 1; n <= 7; n++) say(tk, `event ${n} \0 \ud800`);
    const before = await until(
      async () => {
        const read = await page(tk);
        return messages(read).at(-1)?.startsWith('event 7') && read;
      },
      { what: 'the events' },
    );
    const after = await restart();
    const read = await page(after);
    expect(read.data.map(({ id, timestamp, data }: Json) => JSON.stringify([id, timestamp, data]))).toEqual(
      before.data.map(({ id, timestamp, data }: Json) => JSON.stringify([id, timestamp, data])),
    );
    say(after, 'new');
    await until(async () => (await page(after)).data.at(-1).message === 'new', { what: 'the new event' });
    const rest = await page(after, `&since=${before.data[3].id}`);
    expect({ ...rest, data: messages(rest).map((text) => text.slice(0, 7)) }).toMatchObject({
      data: ['event 7', 'new'],
      missed: 0,
      reset: false,
    });
    expect(await page(after, `&since=${rest.nextSince}`)).toMatchObject({ data: [], reset: false });
  });

  const investigation = (of: TestApp, id: string) => of.http.get(`/api/v1/investigations/${id}`);
  const call = (of: TestApp, id: string) => of.call('search', {}, { investigationId: id });

  it('investigations are listed as they were, and go on with what they have spent', async () => {
    await tk.register('search', { callsPerInvestigation: 3 });
    for (const id of ['spent', 'spent', 'spent', 'reset', 'raised']) await call(tk, id).expect(200);
    const raise = { callsPerTool: 7, tools: { search: 5, constructor: 9 } };
    await tk.http.patch('/api/v1/investigations/raised').send(raise).expect(200);
    await tk.http.delete('/api/v1/investigations/reset').expect(204);
    await call(tk, 'again').expect(200);
    await tk.http.delete('/api/v1/investigations/again').expect(204);
    await call(tk, 'again').expect(200);
    const list = async (of: TestApp) => (await of.http.get('/api/v1/investigations').expect(200)).body.data;
    const before = await list(tk);
    expect(before.map(({ investigationId }: Json) => investigationId)).toEqual(['again', 'raised', 'spent']);
    const after = await restart();
    expect(await list(after)).toEqual(expect.arrayContaining(before));
    expect(await list(after)).toHaveLength(3);
    await investigation(after, 'reset').expect(404);
    await call(after, 'spent').expect(429).expect('ratelimit-remaining', '0');
    await call(after, 'raised').expect(200).expect('ratelimit-remaining', '3');
  });
});
