import { rmSync, writeFileSync } from 'node:fs';
import { fileRecords, openFileJournal } from '../../test/support/file-journal.js';
import { journalText } from '../../test/support/journal-lines.js';
import { makeTestFolder } from '../../test/support/test-folder.js';
import { until } from '../../test/support/wait.js';
import { LockHeld } from '../common/lock.js';
import { WorkerCalls } from '../common/worker-calls.js';
import type { Journal, JournalNews } from './journal.js';
import { segmentPath, segmentsIn } from './segment-files.js';

/** real: the journal, its files, lock and threads; ours: what the records mean, and a file that they go to */
describe('a journal', () => {
  let folder: string;
  let journal: Journal<object, object> | undefined;
  let news: JournalNews[];
  const hear = (said: JournalNews): void => void news.push(said);
  const committed = (): number =>
    news.reduce((sum, said) => sum + (said.event === 'committed' ? said.records : 0), 0);
  const ids = (): string[] => fileRecords(folder).map(({ id }) => id);

  beforeEach(() => {
    folder = makeTestFolder();
    news = [];
  });
  afterEach(async () => {
    await journal?.close(5_000);
    journal = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  it('brings what was appended to its sink, in pairs or in one piece, and counts it', async () => {
    journal = await openFileJournal(folder, hear);
    await journal.tryAppend({ id: 'a', start: { n: 1 } });
    await journal.append({ id: 'a', end: { ok: true } });
    await journal.tryAppend({ id: 'b', start: { n: 2 }, end: {} });
    await journal.tryAppend({ id: 'c', start: { n: 3 } });
    await journal.append({ id: 'c' });
    await journal.flush();
    expect(fileRecords(folder)).toEqual([
      { id: 'a', start: { n: 1 }, end: { ok: true } },
      { id: 'b', start: { n: 2 }, end: {} },
    ]);
    expect(journal.state).toMatchObject({ depth: 0, oldestMs: 0, damagedLines: 0 });
    expect(committed()).toBe(2);
  });

  it('serves one that is opened on another thread', async () => {
    const script = new URL('../../test/fixtures/workers/journal.worker.js', import.meta.url);
    const owner = new WorkerCalls<string, boolean>(script, { name: 'owner', workerData: folder });
    expect(await Promise.all(['a', 'b'].map((id) => owner.call(id)))).toEqual([true, true]);
    expect(ids()).toEqual(['a', 'b']);
    await owner.call('close');
    await owner.stop();
    expect(segmentsIn(folder)).toEqual([]);
  });

  it('belongs to one at a time', async () => {
    journal = await openFileJournal(folder);
    await expect(openFileJournal(folder)).rejects.toBeInstanceOf(LockHeld);
  });

  it('promises nothing more once another has taken its folder', async () => {
    journal = await openFileJournal(folder, hear);
    expect(await journal.tryAppend({ id: 'a', start: {} })).toBe(true);
    rmSync(`${folder}/owner.lock`, { recursive: true });
    await until(() => news.some(({ event }) => event === 'write_failed'), { what: 'the loss to be seen' });
    expect(await journal.tryAppend({ id: 'b', start: {} })).toBe(false);
  });

  it('survives the death of its drain, and counts no record twice', async () => {
    journal = await openFileJournal(folder, hear);
    await journal.tryAppend({ id: 'slow', start: {} });
    await journal.tryAppend({ id: 'a', start: {}, end: {} });
    await journal.flush();
    await journal.tryAppend({ id: 'b', start: { deadly: true }, end: {} });
    await until(() => news.some(({ event }) => event === 'drain_ended'), { what: 'the death of the drain' });
    await journal.flush();
    // It read its segments from their beginning: the sink takes the same record twice.
    expect(new Set(ids())).toEqual(new Set(['a', 'b']));
    expect([committed(), journal.state.depth]).toEqual([2, 0]);
    await journal.append({ id: 'slow', end: {} });
    await journal.flush();
    expect(committed()).toBe(3);
  });

  it('brings what an earlier one left, interrupted where it had no end, and says when', async () => {
    const left = [
      { id: 'a', start: {} },
      { id: 'b', start: {} },
      { id: 'b', end: { ok: true } },
    ];
    writeFileSync(segmentPath(folder, 7), `${journalText(left)}torn`);
    journal = await openFileJournal(folder, hear);
    await journal.replayed;
    expect(fileRecords(folder)).toEqual([
      { id: 'b', start: {}, end: { ok: true } },
      { id: 'a', start: {} },
    ]);
    expect(news).toEqual([
      { event: 'damaged', segment: 7, lines: 1, bytes: 4 },
      { event: 'replayed', records: 2, interrupted: 1 },
    ]);
    expect(journal.state).toMatchObject({ depth: 0, damagedLines: 1 });
    expect(segmentsIn(folder)).toEqual([8]);
  });
});
