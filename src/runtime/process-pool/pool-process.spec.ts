import { spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { until } from '../../../test/support/wait.js';
import { type Ending, PoolFailure, type ProcessLimits } from './pool.types.js';
import type { Exchange } from './conversation.js';
import type { LaunchedProcess, LaunchEvents } from './launcher.js';
import { PoolProcess } from './pool-process.js';

// mock: the process, for the orders of its events that a real one takes once in a thousand runs; real: the rest. What
// real processes do is tested through the pool.

const limits: ProcessLimits = {
  startTimeoutMs: 5_000,
  stopGraceMs: 20,
  maxLineBytes: 1_000,
  linesPerSecond: 1_000,
  maxPendingInputBytes: 2_000,
  stderrBytes: 100,
};
const spec = { command: '/bin/tool', args: [], cwd: '/', env: {} };

class Child extends EventEmitter<LaunchEvents> implements LaunchedProcess {
  pid: number | undefined;
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly signals: NodeJS.Signals[] = [];

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
  }

  run(pid = process.pid): void {
    this.pid = pid;
    this.emit('spawn');
  }

  says(message: object): void {
    this.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

function start() {
  const child = new Child();
  const said: string[] = [];
  const endings: Ending[] = [];
  const tool = new PoolProcess(
    spec,
    limits,
    () => child,
    (event) => {
      if (event.type === 'ended') endings.push(event.ending);
      else said.push(event.type === 'start_failed' ? `start failed: ${event.error}` : event.type);
    },
  );
  return { child, said, endings, tool };
}

async function ready(pid?: number) {
  const started = start();
  started.child.run(pid);
  started.child.says({ id: '0', result: {} });
  await until(() => started.said.includes('ready'), { what: 'ready' });
  return started;
}

const exchange = (): Exchange & { readonly failures: string[] } => {
  const failures: string[] = [];
  return { failures, answered: () => undefined, failed: (reason) => void failures.push(reason) };
};
const ended = (endings: readonly Ending[]): Promise<Ending> =>
  until<Ending | undefined>(() => endings[0], { what: 'the end' });

it('is killed, not asked, when it is told to end before it runs', async () => {
  const { child, endings, said, tool } = start();
  tool.stop('stop');
  expect(child.signals).toEqual(['SIGKILL']);
  // It ran all the same for a moment: nothing is said to it.
  child.run();
  expect(child.stdin.readableLength).toBe(0);
  child.emit('exit', null, 'SIGKILL');
  expect(await ended(endings)).toMatchObject({ reason: 'stop', signal: 'SIGKILL' });
  expect(said).toEqual([]);
});

it('says nothing of a start that failed when nobody wants it any more', () => {
  const { child, endings, said, tool } = start();
  tool.kill('stop');
  child.emit('error', Object.assign(new Error('spawn ECANCELED'), { code: 'ECANCELED' }));
  expect(said).toEqual([]);
  expect(endings).toEqual([{ reason: 'stop', exitCode: null, signal: null, stderrTail: '' }]);
  // The last that it does: neither end does anything twice.
  tool.stop('idle');
  tool.kill('idle');
  expect(child.signals).toEqual(['SIGKILL']);
});

it('did not start when its answer to initialize is its last breath', async () => {
  const { child, endings, said } = start();
  child.run();
  child.emit('exit', 0, null);
  child.says({ id: '0', result: {} });
  expect(await ended(endings)).toMatchObject({ reason: 'start_failed', exitCode: 0 });
  expect(said).toEqual(['start failed: It ended right after its answer to "initialize"']);
});

it('takes no answer to initialize once it is to end', async () => {
  const { child, endings, said, tool } = start();
  child.run();
  tool.stop('idle');
  child.says({ id: '0', result: {} });
  child.emit('exit', 0, null);
  expect(await ended(endings)).toMatchObject({ reason: 'idle' });
  expect(said).toEqual([]);
});

it('that drains while it starts tells nobody', async () => {
  const { child, said } = start();
  child.run();
  child.stdin.emit('drain');
  expect(said).toEqual([]);
  child.says({ id: '0', result: {} });
  await until(() => said.includes('ready'), { what: 'ready' });
  child.stdin.emit('drain');
  expect(said).toEqual(['ready', 'drained']);
});

it('keeps its first cause when its output breaks off while it is ended for too long a line', async () => {
  const { child, endings, tool } = await ready();
  const pending = exchange();
  tool.send('execute', {}, pending);
  child.stdout.write('x'.repeat(limits.maxLineBytes + 1));
  await until(() => pending.failures.length > 0, { what: 'the failure' });
  child.stdout.end();
  await until(() => child.stdout.readableEnded, { what: 'its end' });
  child.emit('exit', null, 'SIGKILL');
  expect(await ended(endings)).toMatchObject({ reason: 'output' });
  expect(pending.failures).toEqual(['output_too_large']);
});

it('crashed, however late its exit is told', async () => {
  const { child, endings, tool } = await ready(spawnSync('true').pid);
  const pending = exchange();
  tool.send('execute', {}, pending);
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  child.stdout.emit('end');
  jest.advanceTimersByTime(3_000);
  jest.useRealTimers();
  expect(pending.failures).toEqual([]);
  child.emit('exit', 1, null);
  expect(await ended(endings)).toMatchObject({ reason: 'crash', exitCode: 1 });
  expect(pending.failures).toEqual(['tool_crashed']);
});

it('is at fault when it closes its output and runs on, or when its exit is never told', async () => {
  for (const pid of [process.pid, spawnSync('true').pid]) {
    const { child, tool } = await ready(pid);
    const pending = exchange();
    tool.send('execute', {}, pending);
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    child.stdout.emit('end');
    jest.advanceTimersByTime(pid === process.pid ? 200 : 11_000);
    jest.useRealTimers();
    expect(pending.failures).toEqual(['protocol_error']);
    expect(child.signals).toEqual(['SIGKILL']);
    child.emit('exit', null, 'SIGKILL');
  }
});

it('is given nothing while its input is full', async () => {
  const { tool } = await ready();
  const pending = exchange();
  const large = { text: 'x'.repeat(limits.maxPendingInputBytes) };
  expect(() => tool.send('execute', large, pending)).toThrow(PoolFailure);
  expect(tool.usable).toBe(true);
  expect(tool.congested).toBe(false);
});

it('goes down the whole ladder when it ignores the end of its input', async () => {
  const { child, endings, tool } = await ready();
  tool.stop('idle');
  // Said again, it changes nothing.
  tool.stop('stop');
  await until(() => child.signals.length === 2, { what: 'the ladder' });
  expect(child.signals).toEqual(['SIGTERM', 'SIGKILL']);
  child.emit('exit', null, 'SIGKILL');
  expect(await ended(endings)).toMatchObject({ reason: 'idle', signal: 'SIGKILL' });
});

it('asks for nothing to be cancelled that was never declared', async () => {
  const { tool } = await ready();
  const pending = exchange();
  const id = tool.send('execute', {}, pending);
  expect(tool.cancel(id, { ...exchange(), givenUp: 'cancelled' })).toBeUndefined();
});
