import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../test/support/wait.js';
import type { EmbeddingUnavailable } from '../embedding-provider.js';
import { EmbeddingThread, type EmbeddingThreadSettings } from './embedding-thread.js';

/** real: the thread, its messages, its deaths; ours: the model, whose texts say what it does. */
const script = new URL('../../../test/fixtures/workers/model.worker.js', import.meta.url);

describe('EmbeddingThread', () => {
  let folder: string;
  let thread: EmbeddingThread;
  let troubles: EmbeddingUnavailable[];

  const start = (settings: Partial<EmbeddingThreadSettings> = {}): EmbeddingThread => {
    const model = {
      directory: folder,
      modelFile: '',
      tokenizerFile: '',
      pooling: 'mean',
      maxTokens: 8,
    } as const;
    thread = new EmbeddingThread({
      script,
      order: { kind: 'onnx', model },
      maxQueue: 2,
      loadTimeoutMs: 20_000,
      textTimeoutMs: 20_000,
      idleMs: 0,
      retry: { firstMs: 60_000, longestMs: 60_000 },
      onTrouble: (trouble) => troubles.push(trouble),
      ...settings,
    });
    return thread;
  };
  const starts = (): number => readFileSync(join(folder, 'starts'), 'utf8').length;
  const lengths = (vectors: readonly Float32Array[]): (number | undefined)[] =>
    vectors.map(([first]) => first);

  beforeEach(() => {
    troubles = [];
    folder = mkdtempSync(join(tmpdir(), 'embedding-'));
  });
  afterEach(async () => {
    await thread.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('starts with the first request and answers in the order of the texts', async () => {
    expect(start().dimensions).toBe(0);
    expect(lengths(await thread.embed(['aaa', 'a', 'aa'], 'document'))).toEqual([3, 1, 2]);
    expect(await thread.embed([], 'query')).toEqual([]);
    expect(thread.dimensions).toBe(2);
    expect(starts()).toBe(1);
  });

  it('takes queries between the texts of a batch of documents', async () => {
    start();
    const documents = thread.embed(['d1', 'd2', 'd3'], 'document');
    const query = thread.embed(['query'], 'query');
    await Promise.all([documents, query]);
    const order = readFileSync(join(folder, 'texts'), 'utf8').trim().split('\n');
    expect(order).toEqual(['query', 'd1', 'd2', 'd3']);
  });

  it('refuses what comes when as many wait as may, of each kind', async () => {
    start();
    const waiting = [thread.embed(['a'], 'query'), thread.embed(['b'], 'query')];
    await expect(thread.embed(['c'], 'query')).rejects.toMatchObject({ trouble: 'queue_full' });
    await expect(thread.embed(['d'], 'document')).resolves.toHaveLength(1);
    await expect(Promise.all(waiting)).resolves.toHaveLength(2);
  });

  it('lets an asker leave, whether its text waits or runs, and goes on with the others', async () => {
    start();
    await thread.embed(['warm'], 'query');
    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = thread.embed(['running'], 'query', running.signal);
    const second = thread.embed(['waiting'], 'query', waiting.signal);
    running.abort(new Error('left 1'));
    waiting.abort(new Error('left 2'));
    await expect(first).rejects.toThrow('left 1');
    await expect(second).rejects.toThrow('left 2');
    expect(lengths(await thread.embed(['next'], 'query'))).toEqual([4]);
    expect(readFileSync(join(folder, 'texts'), 'utf8')).not.toContain('waiting');
    await expect(thread.embed(['x'], 'query', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  });

  it('replaces a thread that dies: only the text under way is lost', async () => {
    start();
    await thread.embed(['warm'], 'query');
    const dying = thread.embed(['die'], 'query');
    const next = thread.embed(['next'], 'query');
    await expect(dying).rejects.toMatchObject({ name: 'EmbeddingUnavailable', trouble: 'worker_died' });
    expect(lengths(await next)).toEqual([4]);
    expect(starts()).toBe(2);
    expect(troubles.map(({ trouble }) => trouble)).toEqual(['worker_died']);
  });

  it('replaces a thread that hangs', async () => {
    start({ textTimeoutMs: 50 });
    await expect(thread.embed(['hang'], 'query')).rejects.toMatchObject({ trouble: 'timed_out' });
    // On a slow machine its successors, too, may take longer for a text than they may.
    const next = await until(() => thread.embed(['next'], 'query'), { what: 'another thread' });
    expect(lengths(next)).toEqual([4]);
    expect(starts()).toBeGreaterThan(1);
  });

  it('passes on that the model cannot read a text, and keeps the thread', async () => {
    start();
    await expect(thread.embed(['throw'], 'query')).rejects.toMatchObject({ trouble: 'wrong_answer' });
    await thread.embed(['fine'], 'query');
    expect(starts()).toBe(1);
  });

  it('says at once that a model cannot be loaded, and does not try again before its time', async () => {
    writeFileSync(join(folder, 'no-model'), '');
    start();
    const asked = [thread.embed(['a'], 'query'), thread.embed(['b'], 'document')];
    for (const each of asked) await expect(each).rejects.toThrow('there is no model');
    await expect(thread.embed(['c'], 'query')).rejects.toMatchObject({ trouble: 'not_loaded' });
    expect(starts()).toBe(1);
  });

  it('tries a model again that could not be loaded', async () => {
    writeFileSync(join(folder, 'no-model'), '');
    start({ retry: { firstMs: 1, longestMs: 1 } });
    await expect(thread.embed(['a'], 'query')).rejects.toThrow('there is no model');
    rmSync(join(folder, 'no-model'));
    await new Promise((resolve) => setTimeout(resolve, 2));
    expect(lengths(await thread.embed(['next'], 'query'))).toEqual([4]);
  });

  it('unloads an idle model and loads it again when it is needed', async () => {
    start({ idleMs: 1 });
    await thread.embed(['a'], 'query');
    await new Promise((resolve) => setTimeout(resolve, 30));
    await thread.embed(['a'], 'query');
    expect(starts()).toBe(2);
    expect(troubles).toEqual([]);
  });
});
