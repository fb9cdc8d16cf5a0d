import { ToolEvents } from '../../src/common/tool-events.js';
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

const rows = async (table: string): Promise<number> => {
  const [row] = await tk.db.dataSource.query<{ n: number }[]>(`SELECT count(*)::int AS n FROM ${table}`);
  return row?.n ?? 0;
};

describe('after a restart', () => {
  const say = (app: TestApp, message: string): void =>
    app.app.get(ToolEvents).say({ type: 'tool.failed', tool: 'search', message, data: { to: 1, b: 2 } });
  const page = async (of: TestApp, query = ''): Promise<Json> =>
    (await of.http.get(`/api/v1/events?tool=search${query}`).expect(200)).body;
  const messages = ({ data }: Json): string[] => data.map(({ message }: Json) => message);

  it('the newest events are read again, byte for byte, and a reader goes on where it was', async () => {
    for (let n = 1; n <= 7; n++) say(tk, `event ${n} \0 \ud800`);
    const before = await page(tk);
    expect(before.data).toHaveLength(5);
    await until(async () => (await rows('tool_events')) >= 7, { what: 'the events are written' });
    const after = await restart();
    const read = await page(after);
    expect(read.data.map(({ id, timestamp, data }: Json) => JSON.stringify([id, timestamp, data]))).toEqual(
      before.data.map(({ id, timestamp, data }: Json) => JSON.stringify([id, timestamp, data])),
    );
    say(after, 'new');
    const rest = await page(after, `&since=${before.data[3].id}`);
    expect({ ...rest, data: messages(rest).map((text) => text.slice(0, 7)) }).toMatchObject({
      data: ['event 7', 'new'],
      missed: 0,
      reset: false,
    });
    expect(await page(after, `&since=${rest.nextSince}`)).toMatchObject({ data: [], reset: false });
  });
});
