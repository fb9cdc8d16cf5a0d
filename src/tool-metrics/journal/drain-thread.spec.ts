import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DrainThread } from './drain-thread.js';

/** real: the thread, its messages, its deaths; ours: what it does, a program that dies once when told to. */
const program = `
import { existsSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
const second = existsSync(workerData.drain.folder + '/died');
parentPort.on('message', (request) => {
  if (!second) {
    writeFileSync(workerData.drain.folder + '/died', '');
    throw new Error('the first one dies');
  }
  const id = request.flush ?? request.finish;
  parentPort.postMessage({ settled: { place: 3, endedAt: 30 } });
  parentPort.postMessage({ flushed: id });
  if ('finish' in request) parentPort.close();
});
parentPort.postMessage({ settled: second ? { place: 1, endedAt: 10 } : { place: 2, endedAt: 20 } });`;

describe('DrainThread', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'drain-'));
    writeFileSync(join(folder, 'program.mjs'), program);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('starts a dead thread again, which answers what was asked meanwhile, and never counts back', async () => {
    const heard: number[] = [];
    let ended: () => void = () => undefined;
    const died = new Promise<void>((resolve) => (ended = resolve));
    const thread = new DrainThread(
      join(folder, 'program.mjs'),
      {
        drain: { folder, batchSize: 1, replayThrough: 0 },
        sink: { url: '', connectTimeoutMs: 1, queryTimeoutMs: 1 },
        intervalMs: 1,
      },
      {
        news: (news) => void ('settled' in news && heard.push(news.settled.place)),
        ended: () => ended(),
      },
    );
    await expect(thread.flush()).rejects.toThrow('The drain of the journal ended');
    await died;
    await expect(thread.flush()).resolves.toBeUndefined();
    expect(heard).toEqual([2, 3]);
    expect(thread.settled).toEqual({ place: 3, endedAt: 30 });
    await thread.finish();
  });
});
