import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { EventRing } from './event-ring.js';
import { type Following, type Reading, sseComment, sseHeartbeat, SseStream } from './sse.js';

interface Entry {
  readonly message: string;
}

const streams: SseStream<Entry>[] = [];
afterEach(() => {
  for (const stream of streams.splice(0)) stream.destroy();
});

function setUp({ maxEntries = 1_000, maxBytes = 1_000_000, heartbeatMs = 60_000 } = {}) {
  const ring = new EventRing<Entry>({ maxEntries, maxBytes }, 'e1');
  const follow = ({
    greeting,
    maxUnread,
    ...following
  }: Partial<Following<Entry>> & Reading = {}): SseStream<Entry> => {
    const eventOf = ({ id, message }: Entry & { id: string }) => ({ id, event: 'log', data: { message } });
    const reading = { greeting, ...(maxUnread !== undefined && { maxUnread }) };
    const stream = new SseStream({ ring, place: 0, eventOf, ...following }, reading, heartbeatMs);
    streams.push(stream);
    return stream;
  };
  const write = (...messages: string[]): void => messages.forEach((message) => ring.append({ message }));
  return { ring, follow, write };
}

const end = { event: 'end', data: { reason: 'shutting_down' } };
const long = (n: number): string => `${n} ${'x'.repeat(1_000)}`;

/** Names and data of the events in a text. */
const eventsOf = (stream: string): [string, { message?: string; entries?: number }][] =>
  stream.split('\n\n').flatMap((block) => {
    const [, event, data] = /^(?:id: \S+\n)?event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    return event && data ? [[event, JSON.parse(data) as object]] : [];
  });

it('sends what is there, what comes, and a last event; what is written later goes nowhere', async () => {
  const { follow, write } = setUp();
  write('1', '2\n\nevent: end');
  const stream = follow({ place: 1, greeting: sseComment('hello') });
  const written = text(stream);
  write('3');
  stream.finish({ event: 'outcome', data: { status: 'success' } });
  write('too late');
  stream.finish(end);
  expect(await written).toBe(
    [
      ': hello',
      'id: e1-2\nevent: log\ndata: {"message":"2\\n\\nevent: end"}',
      'id: e1-3\nevent: log\ndata: {"message":"3"}',
      'event: outcome\ndata: {"status":"success"}',
      '',
    ].join('\n\n'),
  );
});

it('leaves out what the client does not want', async () => {
  const { follow, write } = setUp();
  write('1', '2', '3');
  const stream = follow({
    eventOf: ({ message }) => (message === '2' ? undefined : { event: `number.${message}`, data: {} }),
  });
  stream.finish(end);
  expect(eventsOf(await text(stream)).map(([name]) => name)).toEqual(['number.1', 'number.3', 'end']);
});

it('follows several rings one after the other, and goes on when one of them is gone', async () => {
  const { ring, write } = setUp();
  const other = new EventRing<Entry>({ maxEntries: 1_000, maxBytes: 1_000_000 }, 'e2');
  const of = (name: string) => (entry: Entry) => ({ event: name, data: entry });
  const gone = { event: 'gone', data: {} };
  const stream = new SseStream(
    [
      { ring, place: 0, eventOf: of('one') },
      { ring: other, place: 0, eventOf: of('other'), closedEvent: gone },
    ],
    {},
    60_000,
  );
  streams.push(stream);
  write('1', '2', '3');
  other.append({ message: '4' });
  const written = text(stream);
  setImmediate(() => {
    other.close();
    other.append({ message: 'nobody hears it' });
    write('5');
    stream.finish(end);
    write('6');
  });
  const names = eventsOf(await written).map(([name]) => name);
  expect(names).toEqual(['one', 'other', 'one', 'one', 'gone', 'one', 'end']);
});

it('ends when what is followed is gone', async () => {
  const { ring, follow } = setUp();
  const written = text(follow());
  setImmediate(() => ring.close());
  expect(eventsOf(await written)).toEqual([['end', { reason: 'removed' }]]);
});

it('keeps no queue for a client that does not read, tells it what it missed, and never loses the end', async () => {
  const { follow, write } = setUp({ maxBytes: 100_000 });
  const stream = follow();
  stream.read(0);
  for (let n = 1; n <= 2_000; n++) write(long(n));
  expect(stream.readableLength).toBeLessThan(70_000);
  stream.finish(end);
  const events = eventsOf(await text(stream));
  const missed = events.filter(([name]) => name === 'missed').map(([, { entries = 0 }]) => entries);
  const sent = events.flatMap(([name, { message }]) => (name === 'log' ? [message] : []));
  expect(missed).toHaveLength(1);
  expect(Number(missed[0]) + sent.length).toBe(2_000);
  expect(sent.at(-1)).toBe(long(2_000));
  expect(events.at(-1)?.[0]).toBe('end');
});

it('goes on with what waited when the client reads again', async () => {
  const { follow, write } = setUp();
  const stream = follow();
  stream.read(0);
  for (let n = 0; n < 100; n++) write(long(n));
  let read = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => (read += chunk));
  while (!read.includes('"99 ')) await once(stream, 'data');
  write('afterwards');
  stream.finish(end);
  await once(stream, 'end');
  const messages = eventsOf(read).map(([, { message }]) => message?.split(' ')[0]);
  expect(messages).toEqual([...Array(100).keys()].map(String).concat('afterwards', undefined as never));
});

it('says it in its own words where a client missed something', async () => {
  const { follow, write } = setUp({ maxEntries: 1 });
  write('1', '2', '3');
  const stream = follow({
    missedEvent: (entries) => ({ event: 'log', data: { message: `${entries} lost` } }),
  });
  stream.finish(end);
  expect(eventsOf(await text(stream)).map(([, { message }]) => message)).toEqual(['2 lost', '3', undefined]);
});

it('says every now and then that it still lives', async () => {
  const { follow } = setUp({ heartbeatMs: 5 });
  const stream = follow().setEncoding('utf8');
  await once(stream, 'data');
  expect(await once(stream, 'data')).toEqual([sseHeartbeat]);
});

it('lets a client go that leaves too many heartbeats unread', async () => {
  const { follow, write } = setUp({ heartbeatMs: 5 });
  const stream = follow({ maxUnread: 4 });
  stream.read(0);
  for (let n = 0; n < 100; n++) write(long(n));
  await new Promise((resolve) => stream.once('close', resolve));
  expect(stream.destroyed).toBe(true);
});
