import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { benchForEachTest, call, result } from '../../../test/fixtures/tools/pool-lab.js';
import { until } from '../../../test/support/wait.js';
import { Conversation } from './conversation.js';
import { OutputReader } from './output-reader.js';
import type { ProcessOutput } from './pool.types.js';

const exchange = { answered: () => undefined, failed: () => undefined };

/** mock: the pipes, which a test fills as no process could; real: all that reads them. */
function reader({ linesPerSecond = 1_000, isOpen = true } = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said: ProcessOutput[] = [];
  const aborted: string[] = [];
  const conversation = new Conversation((output) => said.push(output));
  if (isOpen) conversation.add('1', exchange);
  const limits = { maxLineBytes: 4_194_304, linesPerSecond, stderrBytes: 1_000 };
  const output = new OutputReader(
    { stdout, stderr } as never,
    limits as never,
    conversation,
    (each) => said.push(each),
    (...why) => aborted.push(why.join(' ')),
  );
  const strayLines = (): number =>
    said.reduce((sum, each) => sum + (each.type === 'unparsed' ? each.lines : 0), 0);
  return { stdout, stderr, said, aborted, conversation, output, strayLines };
}

describe('what a process writes beside its answers', () => {
  it('counts ten times while no request is open, and so does stderr then', async () => {
    const idle = reader({ isOpen: false });
    idle.stdout.write('x\n'.repeat(1_000));
    await until(() => idle.strayLines() === 1_000, { what: 'all that is allowed' });
    expect(idle.aborted).toEqual([]);
    idle.stdout.write('x\n'.repeat(1_000));
    await until(() => idle.aborted.length > 0, { what: 'the end for stdout' });
    const errors = reader({ isOpen: false });
    for (let n = 0; n < 1_000; n++) errors.stderr.write(Buffer.alloc(1_024, 'x'));
    await until(() => errors.aborted.length > 0, { what: 'the end for stderr' });
    // While a request is open it is only spread over turns.
    const busy = reader();
    for (let n = 0; n < 40_000; n++) busy.stderr.write(Buffer.alloc(1_024, 'x'));
    await until(() => busy.output.tail.total === 40_000 * 1_024, { what: 'all of stderr' });
    expect(busy.aborted).toEqual([]);
    for (const { output } of [idle, errors, busy]) await new Promise<void>((done) => output.readRest(done));
  });

  it('comes in its order, also where the pipe is read although it was paused', async () => {
    const { stdout, said, output, strayLines } = reader({ linesPerSecond: 10_000_000 });
    const lines = Array.from({ length: 3_000 }, (_, n) => `line ${n}`);
    for (let at = 0; at < lines.length; at += 100) {
      stdout.write(`${lines.slice(at, at + 100).join('\n')}\n`);
      // As Node does with the output of a child process that has ended.
      stdout.resume();
      await nextTurn();
    }
    await until(() => strayLines() === lines.length, { what: 'all of it' });
    expect(said.map((each) => each.type === 'unparsed' && each.line)).toEqual(lines);
    await new Promise<void>((done) => output.readRest(done));
  });

  it('is no more than a portion in each turn, whatever its kind', async () => {
    const kinds = [
      'x\n',
      '\n',
      '{"a":1}\n',
      '{"jsonrpc":"2.0","method":"progress","params":{"progress":1}}\n',
    ];
    for (const kind of kinds) {
      const { stdout, output, conversation } = reader({ linesPerSecond: 10_000_000 });
      let messages = 0;
      const receive = conversation.receive.bind(conversation);
      conversation.receive = (...of) => {
        messages++;
        return receive(...of);
      };
      stdout.write(kind.repeat(5_000));
      await nextTurn();
      await nextTurn();
      expect(stdout.isPaused()).toBe(true);
      expect(messages).toBeLessThanOrEqual(3 * 128);
      await new Promise<void>((done) => output.readRest(done));
    }
  });

  it('takes no memory when it is long: what is kept of a line does not hold the whole', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heap = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const { stdout, said, output } = reader({ linesPerSecond: 10_000_000 });
    const before = heap();
    for (let n = 0; n < 60; n++) stdout.write(`${'x'.repeat(1_000_000)}\n`);
    await until(() => said.length === 60, { what: 'all lines' });
    expect(said[0]).toEqual({ type: 'unparsed', line: 'x'.repeat(500), lines: 1 });
    expect(heap() - before).toBeLessThan(20_000_000);
    await new Promise<void>((done) => output.readRest(done));
  });

  it("ends the process when it is over ten seconds' worth; nothing more is read", async () => {
    const { stdout, aborted, strayLines } = reader();
    stdout.write(`{\n${'1\n'.repeat(20_000)}no JSON\n${'after\n'.repeat(50)}`);
    await until(() => aborted.length > 0, { what: 'the end' });
    expect(aborted).toEqual([
      'flood protocol_error The tool wrote over 1000 lines a second beside its answers (100 while no call is open) for 10 s',
    ]);
    const lines = strayLines();
    // Lines are charged once a chunk.
    expect(lines).toBeGreaterThanOrEqual(20_002);
    expect(lines).toBeLessThanOrEqual(20_002 + 128);
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(strayLines()).toBe(lines);
  });
});

describe('a process', () => {
  const bench = benchForEachTest();

  it('that answers after a flood within one object is heard, and then ended for the flood', async () => {
    const pool = bench.lab.pool({ linesPerSecond: 100 });
    const text = `{\n${'1\n'.repeat(3_000)}{"jsonrpc":"2.0","id":"$ID","result":"heard"}\n`;
    expect(await result(pool, { action: 'raw', text })).toBe('heard');
    expect(await bench.lab.until('terminate')).toMatchObject({ reason: 'flood', signal: 'SIGKILL' });
    expect(await result(pool, {})).toEqual({});
  });

  it('is not held back for answers, however many or large, nor for a few lines beside each', async () => {
    const pool = bench.lab.pool({ linesPerSecond: 100, maxConcurrency: 50, maxQueue: 1_000 });
    const calls = Array.from({ length: 300 }, (_, n) => result(pool, { action: 'noise', lines: 5, n }));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['after noise']));
    for (let n = 0; n < 5; n++) {
      expect(await result(pool, { action: 'big', bytes: 1_000_000 })).toHaveLength(1_000_000);
    }
    expect(bench.lab.of('spawn')).toHaveLength(1);
    expect(bench.lab.of('unparsed')).toHaveLength(1_500);
  });

  it('is heard to its end: an answer after many lines counts, though it exited long before they are read', async () => {
    const reply = `printf '{"jsonrpc":"2.0","id":"%s","result":%s}' "$id"`;
    const read = `read -r l; id=\${l#*'"id":"'}; id=\${id%%'"'*}`;
    const script = `${read}; ${reply} '{}'; echo; ${read}; yes x | head -n 30000; ${reply} 7`;
    const pool = bench.lab.pool({
      spec: bench.lab.spec(['--norc', '-c', script], 'bash'),
      linesPerSecond: 40_000,
    });
    expect((await call(pool, {})).reply).toEqual({ result: 7 });
    expect(await bench.lab.until('terminate')).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(bench.lab.of('unparsed')).toHaveLength(30_000);
  });
});
