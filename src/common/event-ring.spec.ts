import { EventRing } from './event-ring.js';
import { RingStream } from './ring-stream.js';

interface Entry {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
}

const entry = (message: string): Entry => ({
  timestamp: '2026-01-23T10:30:00.000Z',
  level: 'info',
  message,
});
const ring = (maxEntries = 5, maxBytes = 1_000_000, epoch = 'e1') =>
  new EventRing<Entry>({ maxEntries, maxBytes }, epoch);
const fill = (into: EventRing<Entry>, from: number, to: number): void => {
  for (let n = from; n <= to; n++) into.append(entry(String(n)));
};
const messages = (of: { entries: { message?: string }[] }) =>
  of.entries.map(({ message }) => message).join(' ');

describe('EventRing', () => {
  it('keeps the latest entries, by number', () => {
    const log = ring();
    expect(log.slice(10)).toEqual({ entries: [], last: undefined, missed: 0 });
    fill(log, 1, 7);
    expect(messages(log.slice(10))).toBe('3 4 5 6 7');
    expect(log.slice(2)).toMatchObject({ last: 'e1-7', missed: 0 });
    expect(messages(log.slice(2))).toBe('6 7');
  });

  it('keeps no more bytes than it may, but always the latest entry', () => {
    const log = ring(1_000, 2_000);
    fill(log, 1, 200);
    const { entries } = log.slice(1_000);
    expect(Buffer.byteLength(JSON.stringify(entries))).toBeLessThan(2_100);
    expect(entries.length).toBeGreaterThan(10);
    log.append(entry('x'.repeat(5_000)));
    expect(log.slice(1_000).entries).toHaveLength(1);
  });

  it('goes on after an id without losing or repeating one, and says what was missed', () => {
    const log = ring();
    fill(log, 1, 4);
    expect(messages(log.slice(2, 'e1-1'))).toBe('2 3');
    expect(log.slice(2, 'e1-4')).toEqual({ entries: [], last: 'e1-4', missed: 0 });
    fill(log, 5, 9);
    expect(log.slice(9, 'e1-2')).toMatchObject({ missed: 2, last: 'e1-9' });
    expect(messages(log.slice(9, 'e1-2'))).toBe('5 6 7 8 9');
  });

  it('gives all it has for an id of an earlier log, or of none', () => {
    const log = ring();
    fill(log, 1, 3);
    for (const id of ['e0-2', 'e1-99', 'nonsense']) {
      expect(messages(log.slice(9, id))).toBe('1 2 3');
      expect(log.knows(id)).toBe(false);
    }
    expect(log.knows('e1-2')).toBe(true);
  });
});

describe('RingStream', () => {
  const streams: RingStream<Entry>[] = [];
  const open = (log: EventRing<Entry>, place: number, heartbeatMs = 60_000): RingStream<Entry> => {
    const stream = new RingStream(log, { place, nameOf: () => 'log' }, heartbeatMs);
    stream.setEncoding('utf8');
    streams.push(stream);
    return stream;
  };
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.destroy();
  });

  const readAll = async (stream: RingStream<Entry>): Promise<string> => {
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    return text;
  };

  it('greets, names its events, and leaves out what the client does not want', async () => {
    const log = ring();
    fill(log, 1, 3);
    const wants = ({ message }: Entry): boolean => message !== '2';
    const nameOf = ({ message }: Entry): string => `number.${message}`;
    const stream = new RingStream(log, { place: 0, nameOf, wants, greeting: 'event: hello\n\n' }, 60_000);
    streams.push(stream.setEncoding('utf8'));
    setImmediate(() => stream.finish('removed'));
    const text = await readAll(stream);
    expect(text.match(/^event: .*$/gm)).toEqual([
      'event: hello',
      'event: number.1',
      'event: number.3',
      'event: end',
    ]);
  });

  it('sends what is there, what comes, and why it ends', async () => {
    const log = ring();
    fill(log, 1, 2);
    const stream = open(log, 1);
    const text = readAll(stream);
    fill(log, 3, 3);
    setImmediate(() => stream.finish('shutting_down'));
    const ids = [...(await text).matchAll(/^id: (\S+)\nevent: log\ndata: \{.*\}\n\n/gm)].map(([, id]) => id);
    expect(ids).toEqual(['e1-2', 'e1-3']);
    expect(await text).toContain('event: end\ndata: {"reason":"shutting_down"}\n\n');
  });

  it('ends when its tool is gone', async () => {
    const log = ring();
    const text = readAll(open(log, 0));
    setImmediate(() => log.close());
    expect(await text).toContain('{"reason":"removed"}');
  });

  it('keeps no queue for a client that does not read, and tells it what it missed', async () => {
    const log = ring(10);
    const stream = open(log, 0);
    stream.read(0);
    for (let n = 1; n <= 2_000; n++) log.append(entry(`${n} ${'x'.repeat(1_000)}`));
    expect(stream.readableLength).toBeLessThan(70_000);
    const text = readAll(stream);
    setImmediate(() => setImmediate(() => stream.finish('shutting_down')));
    const missed = Number(/event: missed\ndata: \{"entries":(\d+)\}/.exec(await text)?.[1]);
    const sent = [...(await text).matchAll(/^event: log$/gm)].length;
    expect(missed + sent).toBe(2_000);
    expect(await text).toContain('"message":"2000 ');
  });

  it('lets a client go that leaves every heartbeat unread', async () => {
    const log = ring(10);
    const stream = open(log, 0, 5);
    stream.read(0);
    for (let n = 0; n < 100; n++) log.append(entry('x'.repeat(1_000)));
    await new Promise((resolve) => stream.once('close', resolve));
    expect(stream.destroyed).toBe(true);
  });
});
