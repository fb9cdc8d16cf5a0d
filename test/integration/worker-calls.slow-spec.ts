import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { childrenOf } from '../support/processes.js';
import { until } from '../support/wait.js';
import { identityOf, lives } from '../../src/base/common/process-identity.js';
import { WorkerCalls, type WorkerCallsOptions } from '../../src/base/common/worker-calls.js';

interface News {
  readonly started: unknown;
}

const script = new URL('../fixtures/workers/calls.worker.mjs', import.meta.url);
const open: { stop(): Promise<void> }[] = [];

function setUp(options: Partial<WorkerCallsOptions<News>> = {}) {
  const news: unknown[] = [];
  const deaths: unknown[] = [];
  const calls = new WorkerCalls<string, unknown, News, string>(script, {
    name: 'test',
    onNews: ({ started }) => news.push(started),
    onDeath: (cause, restartInMs) => deaths.push([cause.message, restartInMs]),
    ...options,
  });
  open.push(calls);
  return { calls, news, deaths };
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((calls) => calls.stop()));
});

it('answers each call by its number, whichever is ready first', async () => {
  const { calls, news } = setUp({ workerData: 'data' });
  const answered: unknown[] = [];
  const ask = async (request: string) => answered.push(await calls.call(request));
  await Promise.all([ask('slow'), ask('fast')]);
  expect(answered).toEqual(['answer to fast', 'answer to slow']);
  expect(news).toEqual(['data']);
});

it('gives the caller what the worker throws, and goes on', async () => {
  const { calls, news } = setUp();
  await expect(calls.call('fail')).rejects.toThrow('it failed');
  expect(await calls.call('next')).toBe('answer to next');
  expect(news).toHaveLength(1);
});

it('tells the worker what needs no answer, in order', async () => {
  const { calls } = setUp();
  await calls.call('first');
  calls.tell('a');
  calls.tell('b');
  expect(await calls.call('told')).toBe('ab');
});

it.each([
  ['die', 'The test thread ended'],
  ['crash', 'The test thread ended: crashed'],
])('fails what waits when the worker dies (%s), and the next call starts another', async (how, message) => {
  const { calls, news, deaths } = setUp();
  const lost = await Promise.allSettled([calls.call(how), calls.call('slow')]);
  const rejected = { status: 'rejected', reason: { reason: 'died', message } };
  expect(lost).toMatchObject([rejected, rejected]);
  expect(deaths).toEqual([[message, undefined]]);
  expect(await calls.call('next')).toBe('answer to next');
  expect(news).toHaveLength(2);
});

it('ends a worker that takes too long: nothing else would interrupt it', async () => {
  const { calls, news } = setUp({ timeLimitMs: 60_000 });
  await calls.call('first');
  await expect(calls.call('hang', 50)).rejects.toMatchObject({
    reason: 'timed_out',
    message: 'The test thread took longer than 50 ms',
  });
  expect(await calls.call('next')).toBe('answer to next');
  expect(news).toHaveLength(2);
});

it.each(['grow', 'leap', 'fill'])('bounds the memory of the worker, which ends alone (%s)', async (how) => {
  const { calls, news } = setUp({
    heapMb: 64,
    workerData: 'data',
    ...(how === 'fill' && { processMb: 512 }),
  });
  expect(await calls.call('first')).toBe('answer to first');
  await expect(calls.call(how)).rejects.toMatchObject({ reason: 'died', isOutOfMemory: true });
  expect(await calls.call('next')).toBe('answer to next');
  expect(news).toEqual(['data', 'data']);
});

it('gives the owner of a process what its worker throws, and ends it where it hangs', async () => {
  const { calls, deaths } = setUp({ heapMb: 64 });
  await expect(calls.call('fail')).rejects.toThrow('it failed');
  await expect(calls.call('crash')).rejects.toThrow('The test thread ended: crashed');
  await calls.call('next');
  await expect(calls.call('hang', 50)).rejects.toMatchObject({ reason: 'timed_out' });
  expect(deaths).toHaveLength(2);
});

it('leaves no process behind when the owner is killed while its worker hangs', async () => {
  const owner = spawn(process.execPath, [join(__dirname, '../fixtures/workers/owner.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(owner.stdout, 'data');
  const hosts = childrenOf(owner.pid as number).map((pid) => identityOf(pid) as string);
  expect(hosts).toHaveLength(1);
  owner.kill('SIGKILL');
  await until(() => !hosts.some(lives), { what: 'the end of the process of its worker' });
});

it('keeps a worker running that is wanted always, with longer and longer pauses', async () => {
  const { calls, news, deaths } = setUp({ restart: { firstMs: 20, maxMs: 1_000 } });
  await until(() => news.length === 1, { what: 'the first worker' });
  await expect(calls.call('die')).rejects.toThrow('ended');
  // Asked while there is none.
  expect(await calls.call('patient')).toBe('answer to patient');
  expect(deaths).toEqual([['The test thread ended', 20]]);
  expect(news).toHaveLength(2);
});

it('doubles the pause while workers die before they have said anything', async () => {
  const { deaths } = setUp({
    restart: { firstMs: 5, maxMs: 15 },
    workerData: 'stillborn',
  });
  await until(() => deaths.length >= 3, { what: 'three deaths' });
  expect(deaths.map((death) => (death as unknown[])[1]).slice(0, 3)).toEqual([5, 10, 15]);
});

it('stops for good, until somebody calls again', async () => {
  const { calls, news, deaths } = setUp({ restart: { firstMs: 1, maxMs: 1 } });
  const lost = calls.call('slow');
  const stopped = calls.stop();
  await expect(lost).rejects.toMatchObject({ reason: 'stopped' });
  await stopped;
  expect(deaths).toEqual([]);
  expect(await calls.call('next')).toBe('answer to next');
  expect(news.length).toBeLessThanOrEqual(2);
});

it('a worker that says what breaks the form ends, and the server goes on', async () => {
  const { calls, deaths } = setUp({
    onNews: () => {
      throw new TypeError('no such member');
    },
  });
  await expect(calls.call('slow')).rejects.toThrow('sent an unreadable message');
  expect(deaths).toHaveLength(1);
});
