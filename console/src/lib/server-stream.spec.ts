import type { StreamEvent } from './event-stream.js';
import { type Connection, ServerStream, type StreamRequest } from './server-stream.js';

/** A server that keeps what it was asked, and says what the test has it say. */
function serverOf(refused: readonly string[] = []) {
  const asked: StreamRequest[] = [];
  const said: Connection[] = [];
  const waiting: ((event: StreamEvent) => void)[] = [];
  const stream = new ServerStream({
    open: (request) => {
      asked.push(request);
      if (request.topics.some((topic) => refused.includes(topic)))
        return Promise.reject(new Error('not for you'));
      return Promise.resolve(endless(request.signal));
    },
    isRefusal: () => true,
    onStatus: (status) => said.push(status),
  });
  async function* endless(signal: AbortSignal): AsyncGenerator<StreamEvent> {
    while (!signal.aborted)
      yield await new Promise<StreamEvent>((resolve, reject) => {
        waiting.push(resolve);
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
  }
  const say = async (event: StreamEvent): Promise<void> => {
    waiting.pop()?.(event);
    await settled();
  };
  return { stream, asked, said, say };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('follows what several screens ask for in one stream, each topic from where it was', async () => {
  const { stream, asked, say } = serverOf();
  const [events, lines]: [string[], string[]] = [[], []];
  stream.follow('events', ({ data }) => events.push(data));
  await settled();
  await say({ event: 'circuit.opened', data: '{"n":1}', id: 'events=7' });
  const leave = stream.follow('logs:a', ({ event, data }) => lines.push(`${event} ${data}`));
  await settled();
  await say({ event: 'message', data: '', id: 'events=7,logs:a=3' });
  await say({ event: 'log', data: '{"n":2}', id: 'events=7,logs:a=4' });
  await say({ event: 'missed', data: '{"topic":"logs:a","entries":5}' });
  leave();
  stream.follow('logs:b', () => undefined);
  await settled();
  expect(events).toEqual(['{"n":1}']);
  expect(lines).toEqual(['log {"n":2}', 'missed {"topic":"logs:a","entries":5}']);
  expect(asked.map(({ topics, lastEventId }) => [topics.join(), lastEventId])).toEqual([
    ['events', undefined],
    ['events,logs:a', 'events=7'],
    ['events,logs:b', 'events=7'],
  ]);
  expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
});

it('goes on without a topic that is refused, and says so to its follower', async () => {
  const { stream, asked, said } = serverOf(['logs:secret']);
  const lines: string[] = [];
  stream.follow('events', () => undefined);
  stream.follow('logs:secret', ({ event, data }) => lines.push(`${event} ${data}`));
  await settled();
  expect(lines).toEqual(['refused not for you']);
  expect(asked.map(({ topics }) => topics.join())).toEqual(['events,logs:secret', 'events']);
  expect(said.at(-1)).toBe('live');
});

it('holds no connection while nobody looks, and goes on from there', async () => {
  const { stream, asked, said, say } = serverOf();
  stream.follow('events', () => undefined);
  await settled();
  await say({ event: 'health.changed', data: '{}', id: 'events=9' });
  stream.pause();
  expect([asked[0]?.signal.aborted, said.at(-1)]).toEqual([true, 'paused']);
  stream.resume();
  await settled();
  expect([asked[1]?.lastEventId, said.at(-1)]).toEqual(['events=9', 'live']);
});
