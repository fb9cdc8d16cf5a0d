import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { sseHeartbeat } from '../common/sse.js';
import { EventStream } from './event-stream.js';

const log = (message: string) => ({ type: 'log', level: 'info', message }) as const;
const progress = (n: number) => ({ type: 'progress', progress: n }) as const;

/** Names and data of the events in a text. */
const eventsOf = (stream: string): [string, unknown][] =>
  stream
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [name = '', data = ''] = block.split('\n');
      return [name.slice('event: '.length), JSON.parse(data.slice('data: '.length))];
    });

describe('EventStream', () => {
  it('writes notices and the outcome in order, one line of data each', async () => {
    const stream = new EventStream(60_000);
    stream.comment('execution e');
    stream.notice({ type: 'progress', progress: 1, total: 2, message: 'a\n\nevent: outcome' });
    stream.notice({ type: 'log', level: 'warn', message: 'b', data: { c: 1 } });
    stream.finish('outcome', { status: 'success' });
    stream.notice(log('too late'));
    stream.comment('too late');
    stream.finish('outcome', { status: 'error' });
    const written = await text(stream);
    expect(written.startsWith(': execution e\n\n')).toBe(true);
    expect(eventsOf(written)).toEqual([
      ['progress', { progress: 1, total: 2, message: 'a\n\nevent: outcome' }],
      ['log', { level: 'warn', message: 'b', data: { c: 1 } }],
      ['outcome', { status: 'success' }],
    ]);
    expect(written).not.toContain('too late');
  });

  it('says every now and then that the call still runs', async () => {
    const stream = new EventStream(5);
    stream.setEncoding('utf8');
    await once(stream, 'data');
    const [second] = (await once(stream, 'data')) as [string];
    expect(second).toBe(sseHeartbeat);
    stream.destroy();
    stream.notice(log('nobody is there'));
    stream.finish('outcome', {});
  });

  it('keeps little for a client that does not read: the newest progress, the last logs, a word on the rest', async () => {
    const stream = new EventStream(60_000);
    for (let n = 0; n < 20_000; n++) {
      stream.notice(log(`${n} ${'x'.repeat(1_000)}`));
      stream.notice(progress(n));
    }
    expect(stream.readableLength).toBeLessThan(70_000);
    stream.finish('outcome', { status: 'success' });
    const written = await text(stream);
    expect(written.length).toBeLessThan(500_000);
    const events = eventsOf(written);
    const names = events.map(([name]) => name);
    expect(names.at(-1)).toBe('outcome');
    const progresses = events.filter(([name]) => name === 'progress');
    expect(progresses.at(-1)).toEqual(['progress', { progress: 19_999 }]);
    const messages = events.flatMap(([name, data]) =>
      name === 'log' ? [(data as { message: string }).message] : [],
    );
    expect(messages.at(-1)).toMatch(/^19999 x/);
    const missing = messages.flatMap((message) => /^(\d+) notices were left out/.exec(message)?.[1] ?? []);
    expect(missing).toHaveLength(1);
    expect(Number(missing[0]) + messages.length - 1).toBe(20_000);
  });

  it('goes on with what waited when the client reads again', async () => {
    const stream = new EventStream(60_000);
    for (let n = 0; n < 100; n++) stream.notice(log(`${n} ${'x'.repeat(1_000)}`));
    stream.setEncoding('utf8');
    let read = '';
    stream.on('data', (chunk: string) => (read += chunk));
    while (!read.includes('"99 ')) await once(stream, 'data');
    stream.notice(log('afterwards'));
    stream.finish('outcome', {});
    await once(stream, 'end');
    const messages = eventsOf(read).map(([, data]) => (data as { message?: string }).message?.split(' ')[0]);
    expect(messages).toEqual([...Array(100).keys()].map(String).concat('afterwards', undefined as never));
  });

  it('passes a single notice that is larger than all that may wait', async () => {
    const stream = new EventStream(60_000);
    stream.notice(log('y'.repeat(70_000)));
    stream.notice(log('z'.repeat(400_000)));
    stream.finish('outcome', {});
    expect(eventsOf(await text(stream)).map(([name]) => name)).toEqual(['log', 'log', 'outcome']);
  });
});
