import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { Lifecycle } from '../../src/base/common/lifecycle.js';
import { ToolEvents } from '../../src/base/streams/tool-events.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { until } from '../support/wait.js';

interface Followed {
  readonly response: IncomingMessage;
  readonly events: { readonly event: string; readonly id?: string; readonly data: Json }[];
  leave(): void;
}

let tk: TestApp;
const open: Followed[] = [];

beforeAll(async () => {
  const variables = {
    CIRCUIT_FAILURES: '2',
    CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL: '86400000',
  };
  tk = await startApp(variables, { events: { kept: 10, maxStreams: 3 }, circuit: { openMs: 50, probes: 1 } });
});
afterEach(() => {
  for (const followed of open.splice(0)) followed.leave();
});
afterAll(() => tk.close());

async function follow(query = '', lastEventId?: string): Promise<Followed> {
  const sent = request(`${tk.url}/api/v1/events${query}`, {
    agent: false,
    headers: { accept: 'text/event-stream', ...(lastEventId && { 'last-event-id': lastEventId }) },
  });
  sent.on('error', () => undefined).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const events: Followed['events'] = [];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = `${text}${chunk}`.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1];
      const [event, id, data] = [field('event'), field('id'), field('data')];
      if (event && data) events.push({ event, ...(id && { id }), data: JSON.parse(data) });
    }
  });
  response.on('error', () => undefined);
  const followed = { response, events, leave: () => void sent.destroy() };
  open.push(followed);
  return followed;
}

const say = (message: string, tool = 'said', type: 'tool.crashed' | 'tool.recovered' = 'tool.crashed') =>
  tk.app.get(ToolEvents).publish({ type, tool, message, data: {} });
const messages = ({ events }: Followed) => events.map(({ data }) => data.message);
const seen = (followed: Followed, count: number) =>
  until(() => followed.events.length >= count, { what: `${count} events` });

/** Events come by way of the database. */
const stored = (message: string) =>
  until(
    async () => {
      const { body } = await tk.http.get('/api/v1/events').expect(200);
      return body.data.some((event: Json) => event.message === message);
    },
    { what: message },
  );

describe('GET /api/v1/events', () => {
  it('says that a tool crashed, that its circuit opened, was tried and closed, and that it recovered', async () => {
    await tk.register('frail', { keepAlive: true });
    const followed = await follow(
      '?tool=frail&type=tool.crashed,tool.recovered,circuit.opened,circuit.half_opened,circuit.closed',
    );
    for (let n = 0; n < 2; n++) await tk.call('frail', { action: 'crash' }).expect(200);
    await until(async () => (await tk.call('frail', {})).status === 200, {
      what: 'the circuit to let a call pass',
    });
    await until(
      async () => {
        await tk.http.get('/api/v1/custom-tools/frail/health').expect(200);
        const seen = new Set(followed.events.map(({ event }) => event));
        return seen.has('tool.recovered') && seen.has('circuit.closed');
      },
      { what: 'recovery' },
    );
    const types = followed.events.map(({ event }) => event);
    // Not while its circuit is open, though its process has started again for the probe.
    expect(types.slice(-2)).toEqual(['circuit.closed', 'tool.recovered']);
    expect(types.toSorted()).toEqual(
      [
        'circuit.closed',
        'circuit.half_opened',
        'circuit.opened',
        'tool.crashed',
        'tool.recovered',
      ].toSorted(),
    );
    expect(followed.events.find(({ event }) => event === 'tool.crashed')?.data).toEqual({
      id: expect.stringMatching(/^[a-z0-9]+-\d+$/),
      type: 'tool.crashed',
      tool: 'frail',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      message: 'A process of it ended with exit code 3',
      data: { exitCode: 3, signal: null },
    });
    expect(followed.events.find(({ event }) => event === 'circuit.opened')?.data.data).toEqual({
      from: 'closed',
      to: 'open',
      by: null,
    });
  });

  it('says that a tool calls itself degraded', async () => {
    const followed = await follow('?tool=stubborn');
    const file = join(fixtures, 'fixture-tool.mjs');
    await tk.register('stubborn', { args: [file, '--health=degraded'], keepAlive: true, minProcesses: 1 });
    await until(
      async () => {
        await tk.http.get('/api/v1/custom-tools/stubborn/health').expect(200);
        return followed.events.length > 0;
      },
      { what: 'the health check' },
    );
    expect(followed.events[0]).toMatchObject({
      event: 'tool.degraded',
      data: { data: { healthStatus: 'degraded' } },
    });
  });

  it('goes on after the last event that was seen, and says what is missing', async () => {
    const first = await follow('?tool=resumed');
    say('one', 'resumed');
    await seen(first, 1);
    first.leave();
    say('two', 'resumed');
    say('other', 'unheard');
    say('three', 'resumed');
    const second = await follow('?tool=resumed', first.events[0]?.id);
    await seen(second, 2);
    say('four', 'resumed');
    await seen(second, 3);
    expect(messages(second)).toEqual(['two', 'three', 'four']);
    for (let n = 0; n < 20; n++) say(`flood ${n}`, 'resumed');
    await stored('flood 19');
    const third = await follow('?tool=resumed', first.events[0]?.id);
    await seen(third, 11);
    expect(third.events[0]).toMatchObject({ event: 'missed', data: { entries: expect.any(Number) } });
    expect(messages(third).slice(1)).toEqual(Array.from({ length: 10 }, (_, n) => `flood ${n + 10}`));
  });

  it('says that it does not know an id of before a restart, and gives what it has', async () => {
    say('kept', 'unknown-id');
    await stored('kept');
    const followed = await follow('?tool=unknown-id', 'gone1-7');
    await seen(followed, 2);
    expect(followed.events[0]).toEqual({ event: 'reset', data: { reason: 'unknown_id', id: 'gone1-7' } });
    expect(followed.events[1]?.data.message).toBe('kept');
  });

  it('gives a page to who asks for none, filtered and to go on from', async () => {
    for (const message of ['a', 'b', 'c']) say(message, 'paged');
    say('d', 'paged', 'tool.recovered');
    await stored('d');
    const page = (query: string) => tk.http.get(`/api/v1/events?tool=paged&${query}`).expect(200);
    const { body } = await page('type=tool.crashed');
    expect(body).toMatchObject({ missed: 0, reset: false });
    expect(body.data.map(({ message }: Json) => message)).toEqual(['a', 'b', 'c']);
    const two = (await page(`since=${body.data[0].id}&limit=2`)).body;
    expect(two.data.map(({ message }: Json) => message)).toEqual(['b', 'c']);
    const rest = (await page(`since=${two.nextSince}`)).body;
    expect(rest.data.map(({ message }: Json) => message)).toEqual(['d']);
    expect((await page(`since=${rest.nextSince}`)).body.data).toEqual([]);
    expect((await page('since=gone1-7')).body.reset).toBe(true);
  });

  it('refuses types that there are not', async () => {
    const { body } = await tk.http.get('/api/v1/events?type=tool.crashed,tool.bored').expect(400);
    expect(body.code).toBe('invalid_request');
  });

  it('takes so many clients, and ends them when the server drains', async () => {
    const followed = [await follow(), await follow(), await follow()];
    const fourth = await follow();
    expect([fourth.response.statusCode, fourth.response.headers['retry-after']]).toEqual([429, '10']);
    followed[0]?.leave();
    const again = await until(
      async () => {
        const next = await follow();
        return next.response.statusCode === 200 ? next : undefined;
      },
      { what: 'a free place' },
    );
    tk.app.get(Lifecycle).drain();
    await until(() => again.response.complete, { what: 'the end of the stream' });
    expect(again.events.at(-1)).toEqual({ event: 'end', data: { reason: 'shutting_down' } });
    await tk.http.get('/api/v1/events').set('accept', 'text/event-stream').expect(503);
  });
});
