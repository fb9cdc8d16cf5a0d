import fc from 'fast-check';
import { Refusal } from '../common/errors.js';
import { ExecutionRecorder, type MetricWriter, type RecorderSettings } from './execution-recorder.js';
import { newToolMetric, type ToolMetric } from './tool-metric.entity.js';

class RowFault extends Error {}

/** A database in memory whose writes the test lets through, holds or fails. */
class FakeWriter implements MetricWriter {
  readonly rows: string[] = [];
  readonly writes: string[][] = [];
  /** Each write waits here first. */
  gate: () => Promise<void> = async () => undefined;
  poison = new Set<string>();
  concurrent = 0;
  maxConcurrent = 0;

  async recordMany(metrics: readonly ToolMetric[]): Promise<void> {
    const names = metrics.map(({ toolName }) => toolName);
    this.writes.push(names);
    this.concurrent += 1;
    this.maxConcurrent = Math.max(this.maxConcurrent, this.concurrent);
    try {
      await this.gate();
      if (names.some((name) => this.poison.has(name))) throw new RowFault('poison');
      this.rows.push(...names);
    } finally {
      this.concurrent -= 1;
    }
  }

  isRowFault(error: unknown): boolean {
    return error instanceof RowFault;
  }
}

const settings: RecorderSettings = { maxBuffered: 100, batchSize: 10, flushIntervalMs: 50 };
const metric = (name: string): ToolMetric => newToolMetric({ toolName: name });

function setup(changes: Partial<RecorderSettings> = {}) {
  const writer = new FakeWriter();
  const retries: { depth: number; delayMs: number }[] = [];
  const lost: string[] = [];
  const recorder = new ExecutionRecorder(
    writer,
    { ...settings, ...changes },
    {
      retrying: (_error, depth, delayMs) => retries.push({ depth, delayMs }),
      lost: (metrics) => lost.push(...metrics.map(({ toolName }) => toolName)),
    },
  );
  const execute = (...names: string[]): void => {
    for (const name of names) {
      recorder.begin();
      recorder.finish(metric(name));
    }
  };
  return { writer, recorder, retries, lost, execute };
}

const numbered = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `t${i + from}`);
const down = async (): Promise<void> => {
  throw new Error('connection refused');
};

function deferred() {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

describe('ExecutionRecorder', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['performance', 'queueMicrotask', 'nextTick'] }));
  afterEach(() => jest.useRealTimers());

  describe('batches', () => {
    it('writes after the flush interval what has come until then', async () => {
      const { writer, recorder, execute } = setup();
      execute('a', 'b');
      await jest.advanceTimersByTimeAsync(49);
      expect(writer.writes).toEqual([]);
      execute('c');
      await jest.advanceTimersByTimeAsync(1);
      expect(writer.writes).toEqual([['a', 'b', 'c']]);
      expect([recorder.depth(), recorder.recordedTotal, recorder.lostTotal]).toEqual([0, 3, 0]);
    });

    it('does not wait for the interval once a batch is full', async () => {
      const { writer, execute } = setup();
      execute(...numbered(10));
      await jest.advanceTimersByTimeAsync(1);
      expect(writer.rows).toHaveLength(10);
    });

    it('splits what is more than a batch, oldest first', async () => {
      const { writer, execute } = setup();
      execute(...numbered(25));
      await jest.advanceTimersByTimeAsync(1);
      expect(writer.writes.map((write) => write.length)).toEqual([10, 10, 5]);
      expect(writer.rows).toEqual(numbered(25));
    });

    it('is not put off by rows that keep coming', async () => {
      const { writer, execute } = setup({ maxBuffered: 10_000 });
      for (let i = 0; i < 20; i += 1) {
        execute(...numbered(20, i * 20));
        await jest.advanceTimersByTimeAsync(0.5);
      }
      expect(writer.rows.length).toBeGreaterThan(100);
    });

    it('writes nothing while nothing happens', async () => {
      const { writer } = setup();
      await jest.advanceTimersByTimeAsync(10_000);
      expect(writer.writes).toEqual([]);
    });
  });

  describe('flush', () => {
    it('is one write at a time, however many ask', async () => {
      const { writer, recorder, execute } = setup();
      const first = deferred();
      writer.gate = () => first.promise;
      execute(...numbered(10));
      const flushes = [recorder.flush(), recorder.flush()];
      await jest.advanceTimersByTimeAsync(100);
      expect(writer.writes).toHaveLength(1);
      first.resolve();
      await Promise.all(flushes);
      expect(writer.maxConcurrent).toBe(1);
      expect(writer.rows).toEqual(numbered(10));
    });

    it('waits for the rows that were there, not for those that come later', async () => {
      const { writer, recorder, execute } = setup({ batchSize: 2 });
      const order: string[] = [];
      const gates = [deferred(), deferred()];
      let write = 0;
      writer.gate = () => gates[write++]?.promise ?? Promise.resolve();
      execute('a');
      const early = recorder.flush().then(() => order.push('early'));
      execute('b', 'c');
      const late = recorder.flush().then(() => order.push('late'));
      gates[0]?.resolve();
      await early;
      expect(order).toEqual(['early']);
      expect(writer.rows).toEqual(['a']);
      gates[1]?.resolve();
      await late;
      expect(writer.rows).toEqual(['a', 'b', 'c']);
    });

    it('resolves at once when there is nothing to write', async () => {
      const { recorder, writer } = setup();
      await recorder.flush();
      expect(writer.writes).toEqual([]);
    });

    it('says why it failed, keeps the rows and leaves them to the background', async () => {
      const { writer, recorder, execute } = setup();
      writer.gate = down;
      execute('a');
      await expect(recorder.flush()).rejects.toThrow('connection refused');
      expect(recorder.depth()).toBe(1);
      writer.gate = async () => undefined;
      await jest.advanceTimersByTimeAsync(200);
      expect(writer.rows).toEqual(['a']);
    });
  });

  describe('a database that is away', () => {
    it('is tried again with growing pauses, and the rows are kept in order', async () => {
      const { writer, recorder, retries, execute } = setup();
      writer.gate = down;
      execute('a');
      await jest.advanceTimersByTimeAsync(50 + 100 + 200 + 400);
      expect(retries.map(({ delayMs }) => delayMs)).toEqual([100, 200, 400, 800]);
      await jest.advanceTimersByTimeAsync(60_000);
      expect(retries.at(-1)).toEqual({ depth: 1, delayMs: 5_000 });
      execute('b');
      writer.gate = async () => undefined;
      await jest.advanceTimersByTimeAsync(5_000);
      expect(writer.rows).toEqual(['a', 'b']);
      expect([recorder.depth(), recorder.recordedTotal, recorder.lostTotal]).toEqual([0, 2, 0]);
    });

    it('is not hammered by full batches', async () => {
      const { writer, execute } = setup();
      writer.gate = down;
      execute(...numbered(10));
      await jest.advanceTimersByTimeAsync(1);
      execute(...numbered(30, 10));
      await jest.advanceTimersByTimeAsync(90);
      expect(writer.writes).toHaveLength(1);
    });

    it('fills the buffer up to the cap, then new calls are refused until there is room again', async () => {
      const { writer, recorder, execute } = setup({ maxBuffered: 3 });
      writer.gate = down;
      execute('a', 'b');
      await jest.advanceTimersByTimeAsync(50);
      recorder.begin();
      const refusal = refusalOf(() => recorder.begin());
      expect(refusal.code).toBe('recorder_full');
      expect(refusal.detail).toBe(
        '2 records wait for the database and 1 executions run: the recorder holds 3 (RECORDER_MAX_BUFFERED)',
      );
      expect(refusal.details.retryAfterMs).toBe(100);
      recorder.finish(metric('c'));
      expect(() => recorder.assertRoom()).toThrow(Refusal);
      writer.gate = async () => undefined;
      await jest.advanceTimersByTimeAsync(100);
      expect(() => recorder.assertRoom()).not.toThrow();
      expect(writer.rows).toEqual(['a', 'b', 'c']);
    });
  });

  it('counts executions in flight against the cap, and gives the place of a discarded one back', () => {
    const { recorder } = setup({ maxBuffered: 2 });
    recorder.begin();
    recorder.begin();
    expect(refusalOf(() => recorder.begin()).details.retryAfterMs).toBe(1_000);
    recorder.discard();
    expect(() => recorder.begin()).not.toThrow();
  });

  describe('a row that cannot be written', () => {
    it('is found, given up loudly and does not hold up the others', async () => {
      const { writer, recorder, lost, retries, execute } = setup({ batchSize: 100 });
      writer.poison = new Set(['t7', 't50']);
      execute(...numbered(100));
      await recorder.flush();
      expect(lost).toEqual(['t7', 't50']);
      expect(writer.rows).toEqual(numbered(100).filter((name) => !writer.poison.has(name)));
      expect([recorder.depth(), recorder.recordedTotal, recorder.lostTotal]).toEqual([0, 98, 2]);
      expect(retries).toEqual([]);
      expect(writer.writes.length).toBeLessThan(40);
    });

    it('is the same whichever rows are bad, whatever the batch size', async () => {
      jest.useRealTimers();
      const rows = fc.array(fc.boolean(), { minLength: 1, maxLength: 60 });
      await fc.assert(
        fc.asyncProperty(rows, fc.integer({ min: 1, max: 20 }), async (bad, batchSize) => {
          const { writer, recorder, lost, execute } = setup({ batchSize });
          const names = numbered(bad.length);
          writer.poison = new Set(names.filter((_, i) => bad[i]));
          execute(...names);
          await recorder.flush();
          expect(lost).toEqual(names.filter((_, i) => bad[i]));
          expect(writer.rows).toEqual(names.filter((_, i) => !bad[i]));
          await recorder.close();
        }),
      );
    });
  });

  describe('close', () => {
    it('writes what is left, and a write under way only once', async () => {
      const { writer, recorder, execute } = setup();
      const gate = deferred();
      writer.gate = () => gate.promise;
      execute(...numbered(25));
      await jest.advanceTimersByTimeAsync(1);
      const closed = recorder.close();
      gate.resolve();
      await closed;
      expect(writer.rows).toEqual(numbered(25));
      expect(recorder.close()).toBe(closed);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('waits a moment for executions in flight', async () => {
      const { writer, recorder } = setup();
      recorder.begin();
      const closed = recorder.close();
      recorder.finish(metric('late'));
      await closed;
      expect(writer.rows).toEqual(['late']);
    });

    it('does not wait for ever for an execution that does not end; its record is lost loudly', async () => {
      jest.useRealTimers();
      const { writer, recorder, lost } = setup({ settleMs: 5 });
      recorder.begin();
      await recorder.close();
      recorder.finish(metric('too late'));
      expect(lost).toEqual(['too late']);
      expect([writer.rows.length, recorder.lostTotal, recorder.depth()]).toEqual([0, 1, 0]);
    });

    it('tries again when a write fails, but not for ever', async () => {
      jest.useRealTimers();
      const { writer, recorder, lost, execute } = setup({ closeMs: 2_000 });
      let writes = 0;
      writer.gate = () => (writes++ === 0 ? down() : Promise.resolve());
      execute('a');
      await recorder.close();
      expect(writer.rows).toEqual(['a']);
      expect(lost).toEqual([]);
    });

    it.each([
      ['fails', down],
      ['hangs', () => new Promise<void>(() => undefined)],
    ])('says what is lost when the database %s', async (_what, gate) => {
      jest.useRealTimers();
      const { writer, recorder, lost, execute } = setup({ closeMs: 20 });
      writer.gate = gate;
      execute('a', 'b');
      await recorder.close();
      expect(lost).toEqual(['a', 'b']);
      expect(recorder.lostTotal).toBe(2);
    });
  });
});

function refusalOf(action: () => void): Refusal {
  try {
    action();
  } catch (error) {
    if (error instanceof Refusal) return error;
  }
  throw new Error('nothing was refused');
}
