import { SingleFlight } from './single-flight.js';

const never = new AbortController().signal;

function setUp() {
  const flights = new SingleFlight<string>();
  const begun: { signal: AbortSignal; resolve: (text: string) => void; reject: (error: Error) => void }[] =
    [];
  const work = (signal: AbortSignal): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    signal.addEventListener('abort', () => reject(new Error('cancelled')));
    begun.push({ signal, resolve, reject });
    return promise;
  };
  return { flights, begun, ask: (key: string, signal = never) => flights.join(key, signal, work) };
}

it('answers equal questions with one piece of work, and others with their own', async () => {
  const { flights, begun, ask } = setUp();
  const answers = [ask('a'), ask('b'), ask('a'), ask('a')];
  expect(begun).toHaveLength(2);
  expect(flights.size).toBe(2);
  begun[0]?.resolve('of a');
  begun[1]?.resolve('of b');
  expect(await Promise.all(answers)).toEqual(['of a', 'of b', 'of a', 'of a']);
  expect(flights.size).toBe(0);
});

it('works again for who asks after the answer', async () => {
  const { begun, ask } = setUp();
  const first = ask('a');
  begun[0]?.resolve('first');
  await first;
  expect(begun[0]?.signal.aborted).toBe(false);
  const second = ask('a');
  begun[1]?.resolve('second');
  expect(await second).toBe('second');
});

it('gives a failure to all who wait, and keeps nothing of it', async () => {
  const { flights, begun, ask } = setUp();
  const answers = Promise.allSettled([ask('a'), ask('a')]);
  begun[0]?.reject(new Error('away'));
  expect(await answers).toMatchObject([
    { status: 'rejected', reason: { message: 'away' } },
    { status: 'rejected', reason: { message: 'away' } },
  ]);
  expect(flights.size).toBe(0);
});

it('lets one leave while the others wait on', async () => {
  const { begun, ask } = setUp();
  const leaver = new AbortController();
  const left = ask('a', leaver.signal);
  const stays = ask('a');
  leaver.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  expect(begun[0]?.signal.aborted).toBe(false);
  begun[0]?.resolve('text');
  expect(await stays).toBe('text');
});

it('cancels the work when the last has left, and a later one begins anew', async () => {
  const { flights, begun, ask } = setUp();
  const leavers = [new AbortController(), new AbortController()];
  const left = Promise.allSettled(leavers.map(({ signal }) => ask('a', signal)));
  leavers[0]?.abort();
  leavers[1]?.abort();
  await left;
  expect(begun[0]?.signal.aborted).toBe(true);
  expect(flights.size).toBe(0);
  const later = ask('a');
  expect(begun).toHaveLength(2);
  begun[1]?.resolve('later');
  expect(await later).toBe('later');
});

it('begins nothing for who has left before', async () => {
  const { begun, ask } = setUp();
  await expect(ask('a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  expect(begun).toEqual([]);
});
