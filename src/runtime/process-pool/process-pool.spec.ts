import { setTimeout as delay } from 'node:timers/promises';
import { Cancellation } from '../../base/common/cancellation.js';
import { until } from '../../../test/support/wait.js';
import {
  benchForEachTest,
  call,
  eventually,
  isAlive,
  result,
  toolsFolder,
} from '../../../test/fixtures/tools/pool-lab.js';
import { Deadline } from '../../base/common/deadline.js';
import { StartSlots } from './start-slots.js';

const bench = benchForEachTest();

const pidOf = async (answer: Promise<unknown>) => (await answer) as number;
/** Bash that answers the request whose beginning it has read into `l`. */
const bashReplies = (json: string) =>
  `id=\${l#*'"id":"'}; echo '{"jsonrpc":"2.0","id":"'"\${id%%'"'*}"'","result":${json}}'`;

describe('a call', () => {
  it.each([
    ['fixture-tool.mjs', {}],
    ['echo.py', {}],
    ['echo.sh', {}],
  ])('runs on %s and comes back with its notes', async (file) => {
    const pool = bench.lab.pool({ spec: bench.lab.spec([], `${toolsFolder}/${file}`) });
    const { reply, notes } = await call(pool, { text: 'héllo\n', list: [1, 2] });
    expect(reply).toEqual({ result: { text: 'héllo\n', list: [1, 2] } });
    expect(notes).toMatchObject({ pid: pool.stats().pids[0] });
    expect(notes.spawnMs).toBeGreaterThan(0);
    expect(notes.queueMs).toBeGreaterThanOrEqual(notes.spawnMs ?? NaN);
    expect(notes.outputBytes).toBeGreaterThan(30);
    expect((await call(pool, {})).notes.spawnMs).toBeUndefined();
  });

  it('tells the tool how much time is left when it is written', async () => {
    const pool = bench.lab.pool();
    const context = await result(pool, { action: 'context' }, { timeoutMs: 60_000 });
    const { timeout } = context as { timeout: number };
    expect(timeout).toBeLessThan(60_000);
    expect(timeout).toBeGreaterThan(10_000);
  });

  it("gives the tool's own error as its answer, and keeps the process", async () => {
    const pool = bench.lab.pool();
    const before = await pidOf(result(pool, { action: 'pid' }));
    for (const code of [-32602, -32001]) {
      const { reply } = await call(pool, { action: 'error', code, message: 'no', data: { why: 1 } });
      expect(reply).toEqual({ error: { code, message: 'no', data: { why: 1 } } });
    }
    expect(await pidOf(result(pool, { action: 'pid' }))).toBe(before);
  });

  it('reads a pretty-printed answer, a large one, and one among chatter', async () => {
    const pool = bench.lab.pool();
    expect(await result(pool, { action: 'pretty', nested: { a: [1] } })).toMatchObject({
      nested: { a: [1] },
    });
    expect(await result(pool, { action: 'big', bytes: 1_000_000 })).toHaveLength(1_000_000);
    expect(await result(pool, { action: 'noise', lines: 3 })).toBe('after noise');
    expect(bench.lab.of('unparsed').map(({ line }) => line)).toEqual(['chatter 0', 'chatter 1', 'chatter 2']);
  });

  it('takes an error without an id as the answer to the only open request', async () => {
    const pool = bench.lab.pool();
    const error = { code: -32700, message: 'Parse error' };
    const text = `${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`;
    expect((await call(pool, { action: 'raw', text })).reply).toEqual({ error });
  });

  it('ignores notifications, and reports answers to nobody and JSON that is none of the protocol', async () => {
    const pool = bench.lab.pool();
    const text = [
      '{"jsonrpc":"2.0","method":"progress","params":{"progress":1}}',
      '{"jsonrpc":"2.0","id":"999","result":"for nobody"}',
      '{"level":"info"}',
      '{"jsonrpc":"2.0","id":"$ID","result":"mine"}\n',
    ].join('\n');
    expect(await result(pool, { action: 'raw', text })).toBe('mine');
    expect(bench.lab.of('unparsed').map(({ line }) => line)).toEqual([
      '{"jsonrpc":"2.0","id":"999","result":"for nobody"}',
      '{"level":"info"}',
    ]);
  });

  it('counts as answered when the tool answers without a newline and exits at once', async () => {
    const pool = bench.lab.pool();
    expect(await result(pool, { action: 'answer-and-exit', n: 1 })).toMatchObject({ n: 1 });
    const { reason, exitCode } = await bench.lab.until('terminate');
    expect([reason, exitCode]).toEqual(['exit', 0]);
    expect(await result(pool, {})).toEqual({});
  });

  it('is no rule when a process exits after its first answer while others have answered more', async () => {
    const pool = bench.lab.pool();
    for (const input of [{ n: 1 }, { action: 'answer-and-exit' }, { action: 'answer-and-exit' }]) {
      const before = bench.lab.of('terminate').length;
      await result(pool, input);
      if ('action' in input) await bench.lab.untilCount('terminate', before + 1);
    }
    for (const n of [1, 2, 3]) expect(await result(pool, { n })).toEqual({ n });
    expect(bench.lab.of('spawn')).toHaveLength(3);
  });

  it('gives an input back that cannot be written as JSON, and keeps the process', async () => {
    const pool = bench.lab.pool();
    await expect(call(pool, { n: 1n })).rejects.toThrow(TypeError);
    expect(await result(pool, {})).toEqual({});
    // Also when it need not wait.
    await expect(call(pool, { n: 1n })).rejects.toThrow(TypeError);
    expect(await result(pool, {})).toEqual({});
    expect(bench.lab.of('spawn')).toHaveLength(1);
  });
});

describe('a call fails', () => {
  it('when the tool crashes, with exit code and stderr; another process takes its place', async () => {
    const pool = bench.lab.pool();
    const first = await pidOf(result(pool, { action: 'pid' }));
    await expect(call(pool, { action: 'crash', code: 9, stderr: 'Traceback: boom' })).rejects.toMatchObject({
      reason: 'tool_crashed',
      message: expect.stringContaining('exit code 9'),
      notes: { exitCode: 9, signal: null, stderrTail: 'Traceback: boom', pid: first },
      written: true,
    });
    expect(await pidOf(result(pool, { action: 'pid' }))).not.toBe(first);
    expect(bench.lab.of('terminate')[0]).toMatchObject({ pid: first, reason: 'crash', exitCode: 9 });
  });

  it('when a signal ends the tool', async () => {
    await expect(call(bench.lab.pool(), { action: 'kill' })).rejects.toMatchObject({
      reason: 'tool_crashed',
      notes: { exitCode: null, signal: 'SIGSEGV' },
    });
  });

  it('at the exit of the tool, not when a grandchild lets go of its output; the grandchild is ended too', async () => {
    const pool = bench.lab.pool();
    // It lives longer than the call may take: whoever waits for it ends with a time-out.
    await expect(call(pool, { action: 'grandchild', ms: 600_000 })).rejects.toMatchObject({
      reason: 'tool_crashed',
    });
    await eventually(() => bench.lab.alive().length === 0);
  });

  it('with an answer still in the pipe that a grandchild holds open: then it counts as answered', async () => {
    const pool = bench.lab.pool();
    const grandchild = await pidOf(result(pool, { action: 'grandchild', then: 'exit' }));
    await bench.lab.until('terminate');
    await eventually(() => !isAlive(grandchild));
    expect(await result(pool, {})).toEqual({});
  });

  it.each([
    ['an answer without result and error', '{"jsonrpc":"2.0","id":"$ID"}\n', /neither a result nor an error/],
    ['an error of the wrong shape', '{"jsonrpc":"2.0","id":"$ID","error":"boom"}\n', /its error is not/],
    ['an answer of another protocol', '{"id":"$ID","result":1}\n', /lacks "jsonrpc"/],
  ])('when the tool breaks the protocol: %s', async (_what, text, message) => {
    const pool = bench.lab.pool();
    await expect(call(pool, { action: 'raw', text })).rejects.toMatchObject({
      reason: 'protocol_error',
      message: expect.stringMatching(message),
    });
    expect((await bench.lab.until('terminate')).reason).toBe('protocol');
    expect(await result(pool, {})).toEqual({});
  });

  it('when its answer is over the cap; the flood ends with the process', async () => {
    const pool = bench.lab.pool({ maxLineBytes: 100_000 });
    expect(await result(pool, { action: 'big', bytes: 90_000 })).toHaveLength(90_000);
    await expect(call(pool, { action: 'big', bytes: 100_000 })).rejects.toMatchObject({
      reason: 'output_too_large',
    });
    expect((await bench.lab.until('terminate')).reason).toBe('output');
    expect(await result(pool, {})).toEqual({});
  });

  it('when the tool closes its output and goes on', async () => {
    const pool = bench.lab.pool();
    await expect(call(pool, { action: 'close-stdout' })).rejects.toMatchObject({ reason: 'protocol_error' });
    expect((await bench.lab.until('terminate')).reason).toBe('protocol');
  });

  it('past its deadline: the process is killed and its late answer harms nobody', async () => {
    const pool = bench.lab.pool();
    const slow = await pidOf(result(pool, { action: 'pid' }));
    const late = expect(call(pool, { action: 'sleep', ms: 1_000 }, { timeoutMs: 100 })).rejects.toMatchObject(
      {
        reason: 'timeout',
        written: true,
        message: 'The tool did not answer within 100 ms',
      },
    );
    const next = call(pool, { next: 1 });
    await late;
    const { reply, notes } = await next;
    expect(reply).toEqual({ result: { next: 1 } });
    expect(notes.pid).not.toBe(slow);
    await bench.lab.until('terminate', ({ pid, reason }) => pid === slow && reason === 'timeout');
    await eventually(() => !isAlive(slow));
  });

  it('past its deadline though the tool ignores the end of its input and SIGTERM', async () => {
    const pool = bench.lab.pool({ spec: bench.lab.spec(['--ignore-eof', '--ignore-term']) });
    await result(pool, {});
    await expect(call(pool, { action: 'hang' }, { timeoutMs: 50 })).rejects.toMatchObject({
      reason: 'timeout',
    });
    await eventually(() => bench.lab.alive().length === 0);
  });

  it('past its deadline while it waits, with the probable cause; and leaves no trace', async () => {
    const pool = bench.lab.pool();
    const running = call(pool, bench.gate.input('a'));
    await bench.gate.running('a');
    await expect(call(pool, {}, { timeoutMs: 30 })).rejects.toMatchObject({
      reason: 'timeout',
      written: false,
      message: 'No process of the tool was free within 30 ms: its one process was busy',
    });
    expect(pool.stats()).toMatchObject({ waiting: 0, busy: 1 });
    await bench.gate.open('a');
    await running;
  });

  it('past its deadline while the tool starts', async () => {
    const pool = bench.lab.pool({ spec: bench.lab.spec(['--start=slow:60000']) });
    await expect(call(pool, {}, { timeoutMs: 50 })).rejects.toMatchObject({
      reason: 'timeout',
      message: expect.stringContaining('it was still starting'),
    });
  });

  it('at once when its deadline has passed or its caller has left already', async () => {
    const pool = bench.lab.pool();
    await expect(call(pool, {}, { timeoutMs: 0 })).rejects.toMatchObject({ reason: 'timeout' });
    const left = new Cancellation();
    left.cancel();
    await expect(call(pool, {}, { cancellation: left })).rejects.toMatchObject({ reason: 'cancelled' });
    expect(pool.stats()).toEqual({ starting: 0, idle: 0, busy: 0, waiting: 0, pids: [] });
  });

  it('when its caller leaves: waiting without a trace, running with its process', async () => {
    const pool = bench.lab.pool();
    const [first, second] = [new Cancellation(), new Cancellation()];
    const running = call(pool, bench.gate.input('a'), { cancellation: first });
    await bench.gate.running('a');
    const waiting = call(pool, {}, { cancellation: second });
    second.cancel();
    await expect(waiting).rejects.toMatchObject({ reason: 'cancelled', written: false });
    expect(pool.stats()).toMatchObject({ busy: 1, waiting: 0 });
    first.cancel();
    await expect(running).rejects.toMatchObject({ reason: 'cancelled', written: true });
    expect((await bench.lab.until('terminate')).reason).toBe('cancelled');
  });

  it('as a timeout when its caller leaves at the deadline', async () => {
    const cancellation = new Cancellation();
    const pool = bench.lab.pool();
    const late = call(pool, { action: 'hang' }, { cancellation, timeoutMs: 1 });
    cancellation.cancel();
    await expect(late).rejects.toMatchObject({ reason: 'timeout' });
  });
});

describe('the queue', () => {
  it('serves two at once on a pool of two; the third waits, first in first out', async () => {
    const pool = bench.lab.pool({ poolSize: 2 });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((key) => call(pool, bench.gate.input(key)));
    await Promise.all([bench.gate.running('a'), bench.gate.running('b')]);
    expect(pool.stats()).toMatchObject({ busy: 2, idle: 0, waiting: 2 });
    await bench.gate.open('b');
    await bench.gate.running('c');
    expect(bench.gate.arrived.slice(2)).toEqual(['c']);
    await bench.gate.open('c');
    await bench.gate.open('d');
    await Promise.all([b, c, d]);
    expect(pool.stats()).toMatchObject({ busy: 1, idle: 1, waiting: 0 });
    await bench.gate.open('a');
    await a;
    expect(bench.lab.of('spawn')).toHaveLength(2);
  });

  it('is bounded: calls over poolSize × maxConcurrency + maxQueue are refused and cost nothing', async () => {
    const pool = bench.lab.pool({ maxQueue: 1 });
    const first = call(pool, bench.gate.input('a'));
    const second = call(pool, { second: 1 });
    await expect(call(pool, {})).rejects.toMatchObject({ reason: 'queue_full', written: false });
    await bench.gate.open('a');
    await Promise.all([first, second]);
    expect(await result(pool, {})).toEqual({});
  });

  it('admits as many as that, and takes places back once', () => {
    const pool = bench.lab.pool({ poolSize: 2, maxConcurrency: 2, maxQueue: 1 });
    const slots = Array.from({ length: 5 }, () => pool.admit());
    expect(() => pool.admit()).toThrow(expect.objectContaining({ reason: 'queue_full' }));
    slots[0]?.release();
    slots[0]?.release();
    pool.admit();
    expect(() => pool.admit()).toThrow(expect.objectContaining({ reason: 'queue_full' }));
  });
});

describe('a process', () => {
  it('is reused, the most recently used first', async () => {
    const pool = bench.lab.pool({ poolSize: 3 });
    const calls = ['a', 'b', 'c'].map((key) => call(pool, bench.gate.input(key)));
    await Promise.all(['a', 'b', 'c'].map((key) => bench.gate.running(key)));
    for (const key of ['a', 'c', 'b']) {
      await bench.gate.open(key);
      await calls[['a', 'b', 'c'].indexOf(key)];
    }
    const last = await calls[1];
    for (let n = 0; n < 5; n++) expect(await pidOf(result(pool, { action: 'pid' }))).toBe(last?.notes.pid);
  });

  it('serves several requests at a time where the tool allows it', async () => {
    const pool = bench.lab.pool({ maxConcurrency: 3 });
    const calls = ['a', 'b', 'c', 'd'].map((key) => call(pool, bench.gate.input(key)));
    await Promise.all(['a', 'b', 'c'].map((key) => bench.gate.running(key)));
    expect(pool.stats()).toMatchObject({ busy: 1, waiting: 1, pids: [expect.any(Number)] });
    for (const key of ['c', 'd', 'a', 'b']) await bench.gate.open(key);
    const keys = (await Promise.all(calls)).map(({ reply }) => ('result' in reply ? reply.result : reply));
    expect(keys).toMatchObject([{ key: 'a' }, { key: 'b' }, { key: 'c' }, { key: 'd' }]);
  });

  it('that timed out for one request ends only when its others have been answered', async () => {
    const pool = bench.lab.pool({ maxConcurrency: 2 });
    const other = call(pool, bench.gate.input('other'));
    await bench.gate.running('other');
    await expect(call(pool, { action: 'hang' }, { timeoutMs: 50 })).rejects.toMatchObject({
      reason: 'timeout',
    });
    const next = await call(pool, { action: 'pid' });
    await bench.gate.open('other');
    const { reply, notes } = await other;
    expect(reply).toMatchObject({ result: { key: 'other' } });
    expect(next.notes.pid).not.toBe(notes.pid);
    expect(await bench.lab.until('terminate')).toMatchObject({ pid: notes.pid, reason: 'timeout' });
  });

  it('that crashes fails all its requests', async () => {
    const pool = bench.lab.pool({ maxConcurrency: 2 });
    const other = call(pool, { action: 'hang' });
    await expect(call(pool, { action: 'crash' })).rejects.toMatchObject({ reason: 'tool_crashed' });
    await expect(other).rejects.toMatchObject({ reason: 'tool_crashed' });
  });

  it('ends when it was idle for long, down to the minimum', async () => {
    const pool = await bench.lab.warmPool({ poolSize: 3, minProcesses: 1, idleTimeoutMs: 100 });
    const calls = ['a', 'b', 'c'].map((key) => call(pool, bench.gate.input(key)));
    await Promise.all(['a', 'b', 'c'].map((key) => bench.gate.open(key)));
    await Promise.all(calls);
    await bench.lab.untilCount('terminate', 2);
    expect(bench.lab.of('terminate').map(({ reason }) => reason)).toEqual(['idle', 'idle']);
    // The one that stays may be the one that started last.
    await until(() => pool.stats().idle === 1, { what: 'the last process to be idle' });
    expect(pool.stats().starting).toBe(0);
  });

  it('that is used between two looks of the idle timer stays', async () => {
    const pool = bench.lab.pool({ idleTimeoutMs: 400 });
    const pid = await pidOf(result(pool, { action: 'pid' }));
    const until = performance.now() + 700;
    while (performance.now() < until) expect(await pidOf(result(pool, { action: 'pid' }))).toBe(pid);
    expect((await bench.lab.until('terminate')).reason).toBe('idle');
  });

  it('that has served nobody is given to a fresh request, also when the pool is full', async () => {
    const pool = bench.lab.pool();
    const used = await pidOf(result(pool, { action: 'pid' }));
    const count = (await result(pool, { action: 'count' }, { fresh: true })) as {
      pid: number;
      instance: string;
      served: number;
    };
    expect(count).toEqual({ pid: expect.any(Number), instance: expect.any(String), served: 1 });
    expect(count.pid).not.toBe(used);
    expect(pool.stats().pids).toContain(count.pid);
    expect(await pidOf(result(pool, { action: 'pid' }))).toBe(count.pid);
  });

  it('is awaited by a fresh request while others go on with used ones', async () => {
    const pool = bench.lab.pool({ poolSize: 2 });
    const used = call(pool, bench.gate.input('a'));
    await bench.gate.running('a');
    const fresh = call(pool, { action: 'count' }, { fresh: true });
    const other = call(pool, { action: 'pid' });
    await bench.gate.open('a');
    const { reply } = await fresh;
    expect(reply).toMatchObject({ result: { served: 1 } });
    await Promise.all([used, other]);
  });

  it('that never reads its input fails the request that would wait for it, and the next finds another', async () => {
    const pool = bench.lab.pool({ maxPendingInputBytes: 10_000_000, poolSize: 1 });
    const deaf = call(pool, { action: 'deaf' });
    expect((await deaf).reply).toEqual({ result: 'deaf now' });
    const big = { text: 'x'.repeat(3_000_000) };
    await expect(call(pool, big, { timeoutMs: 300 })).rejects.toMatchObject({ reason: 'timeout' });
    expect(await result(pool, {})).toEqual({});
  });

  it('is not given more while its input is full; it is again when it has drained', async () => {
    const pool = bench.lab.pool({ maxConcurrency: 4 });
    const busy = call(pool, bench.gate.input('a'));
    await bench.gate.running('a');
    const large = call(pool, { text: 'x'.repeat(1_000_000) });
    const small = call(pool, { small: 1 });
    expect(pool.stats()).toMatchObject({ busy: 1, waiting: 1 });
    expect((await small).reply).toEqual({ result: { small: 1 } });
    await large;
    await bench.gate.open('a');
    await busy;
    expect(bench.lab.of('spawn')).toHaveLength(1);
  });

  it('is not reused when it answered without having read its request', async () => {
    const answers = `read l; ${bashReplies('{}')}; read -N 60 l; ${bashReplies('2')}`;
    const pool = bench.lab.pool({ spec: bench.lab.spec(['--norc', '-c', `${answers}; sleep 60`], 'bash') });
    expect(await result(pool, { text: 'x'.repeat(2_000_000) })).toBe(2);
    expect((await bench.lab.until('terminate')).reason).toBe('protocol');
  });

  it('gets no input over the cap, and stays', async () => {
    const pool = bench.lab.pool({ maxPendingInputBytes: 1_000 });
    await expect(call(pool, { text: 'x'.repeat(1_000) })).rejects.toMatchObject({
      reason: 'protocol_error',
      written: false,
    });
    expect(await result(pool, {})).toEqual({});
    expect(bench.lab.of('spawn')).toHaveLength(1);
  });

  it('that floods stderr is drained; its end is kept', async () => {
    const pool = bench.lab.pool();
    expect(await result(pool, { action: 'stderr', bytes: 5_000_000 })).toBe(5_000_000);
    await expect(call(pool, { action: 'crash', stderr: 'the end' })).rejects.toMatchObject({
      notes: { stderrTail: expect.stringMatching(/^e{2000,}the end$/) },
    });
  });

  it('that closes its input and goes on fails the next request, and another takes its place', async () => {
    const answers = `read l; ${bashReplies('{}')}; read l; exec 0<&-; ${bashReplies('1')}`;
    const pool = bench.lab.pool({ spec: bench.lab.spec(['--norc', '-c', `${answers}; sleep 60`], 'bash') });
    expect(await result(pool, {})).toBe(1);
    // What starts processes holds the other end, too, until it is told to let go; it does what it is told in order.
    expect(await result(bench.lab.pool(), {})).toEqual({});
    await expect(call(pool, {})).rejects.toMatchObject({ reason: 'protocol_error' });
    expect(await result(pool, {})).toBe(1);
  });

  it('that ends while idle is noticed; the next call starts another', async () => {
    const pool = bench.lab.pool();
    const pid = await pidOf(result(pool, { action: 'pid' }));
    process.kill(pid, 'SIGKILL');
    expect(await bench.lab.until('terminate')).toMatchObject({ pid, reason: 'crash', signal: 'SIGKILL' });
    expect(pool.stats().pids).toEqual([]);
    expect(await result(pool, {})).toEqual({});
  });
});

describe('keepAlive: false', () => {
  it('gives every call a process that has served nobody, with a spare one started ahead', async () => {
    const pool = bench.lab.pool({ keepAlive: false });
    pool.warm();
    expect(pool.stats().pids).toEqual([]);
    const pids = new Set<unknown>();
    for (let n = 0; n < 4; n++) {
      const { reply, notes } = await call(pool, { action: 'count' });
      expect(reply).toMatchObject({ result: { served: 1 } });
      pids.add(notes.pid);
      await bench.lab.untilCount('spawn', n + 2);
      // The spare was ready before the call came.
      if (n > 0) expect(notes.spawnMs).toBeUndefined();
    }
    expect(pids.size).toBe(4);
    expect(bench.lab.of('terminate').every(({ reason }) => reason === 'one_shot')).toBe(true);
  });

  it('runs no more than poolSize calls at once, although there is a spare', async () => {
    const pool = bench.lab.pool({ keepAlive: false });
    const first = call(pool, bench.gate.input('a'));
    await bench.gate.running('a');
    await bench.lab.untilCount('spawn', 2);
    const second = call(pool, bench.gate.input('b'));
    expect(pool.stats()).toMatchObject({ busy: 1, idle: 1, waiting: 1 });
    await bench.gate.open('a');
    await first;
    await bench.gate.open('b');
    await second;
  });

  it('lets the spare go when the tool is not used any more, and starts none', async () => {
    const pool = bench.lab.pool({ keepAlive: false, idleTimeoutMs: 100 });
    await result(pool, {});
    await bench.lab.until('terminate', ({ reason }) => reason === 'idle');
    await eventually(() => bench.lab.alive().length === 0);
    expect(pool.stats()).toMatchObject({ starting: 0, idle: 0, busy: 0 });
  });

  it('does not let tools that ignore the end of their input pile up', async () => {
    const spec = bench.lab.spec(['--ignore-eof', '--ignore-term']);
    const pool = bench.lab.pool({ keepAlive: false, stopGraceMs: 60_000, spec });
    for (let n = 0; n < 6; n++) await result(pool, {});
    await eventually(() => pool.stats().pids.length <= 4);
    for (const pid of pool.stats().pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just been ended by the pool.
      }
    }
  });

  it('does not count a health check as use', async () => {
    const pool = bench.lab.pool({ keepAlive: false });
    await result(pool, {});
    await bench.lab.untilCount('spawn', 2);
    const health = await pool.health(Deadline.ofSmallest([60_000]));
    expect((await call(pool, { action: 'count' })).notes.pid).toBe(health?.notes.pid);
  });
});

describe('health', () => {
  const deadline = (ms = 60_000) => Deadline.ofSmallest([ms]);

  it('asks an idle process; busy is not sick, and none is started for it', async () => {
    const pool = bench.lab.pool();
    expect(await pool.health(deadline())).toBeUndefined();
    const busy = call(pool, bench.gate.input('a'));
    await bench.gate.running('a');
    expect(await pool.health(deadline())).toBeUndefined();
    await bench.gate.open('a');
    await busy;
    const { reply } = (await pool.health(deadline())) ?? {};
    expect(reply).toMatchObject({ result: { status: 'healthy' } });
    expect(bench.lab.of('spawn')).toHaveLength(1);
  });

  it('replaces a process that does not answer it', async () => {
    const pool = await bench.lab.warmPool({ spec: bench.lab.spec(['--health=hang']), minProcesses: 1 });
    await expect(pool.health(deadline(50))).rejects.toMatchObject({ reason: 'timeout' });
    expect((await bench.lab.until('terminate')).reason).toBe('timeout');
    await bench.lab.untilCount('spawn', 2);
    await eventually(() => pool.stats().idle === 1);
  });

  it('fails at once past its deadline and does not ask a pool that stops', async () => {
    const pool = bench.lab.pool();
    await result(pool, {});
    await expect(pool.health(deadline(0))).rejects.toMatchObject({ reason: 'timeout' });
    const stopped = pool.stop();
    expect(await pool.health(deadline())).toBeUndefined();
    await stopped;
  });

  it('does not keep a process from ending idle', async () => {
    const pool = bench.lab.pool({ idleTimeoutMs: 300 });
    await result(pool, {});
    while (await pool.health(deadline())) await delay(20);
    await bench.lab.until('terminate');
    expect(bench.lab.of('terminate')[0]?.reason).toBe('idle');
  });
});

describe('the cap over all pools', () => {
  it('makes a pool wait until another one frees a process', async () => {
    const slots = new StartSlots(1);
    const [a, b] = [bench.lab.pool({ name: 'a' }, { slots }), bench.lab.pool({ name: 'b' }, { slots })];
    const first = call(a, bench.gate.input('a'));
    await bench.gate.running('a');
    await expect(call(b, {}, { timeoutMs: 30 })).rejects.toThrow(
      'the server runs as many processes as it may',
    );
    const second = call(b, { b: 1 });
    await bench.gate.open('a');
    await first;
    expect((await second).reply).toEqual({ result: { b: 1 } });
    expect(bench.lab.of('terminate')[0]).toMatchObject({ pool: 'a', reason: 'idle' });
    expect(slots.inUse).toBe(1);
  });

  it('takes an idle process of another pool for a request that waits, and is not exceeded', async () => {
    const slots = new StartSlots(2);
    const [a, b] = [bench.lab.pool({ poolSize: 2 }, { slots }), bench.lab.pool({ poolSize: 2 }, { slots })];
    const warm = ['a1', 'a2'].map((key) => call(a, bench.gate.input(key)));
    await Promise.all(['a1', 'a2'].map((key) => bench.gate.open(key)));
    await Promise.all(warm);
    const calls = ['b1', 'b2'].map((key) => call(b, bench.gate.input(key)));
    await Promise.all([bench.gate.open('b1'), bench.gate.open('b2')]);
    await Promise.all(calls);
    expect(slots.inUse).toBeLessThanOrEqual(2);
  });

  it('is given back when pools stop', async () => {
    const slots = new StartSlots(3);
    const pool = await bench.lab.warmPool({ poolSize: 3, minProcesses: 3 }, { slots });
    expect(slots.inUse).toBe(3);
    await pool.stop();
    expect(slots.inUse).toBe(0);
  });
});
