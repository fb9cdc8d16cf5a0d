import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileRecords, openFileJournal } from '../../../test/support/file-journal.js';
import { journalText } from '../../../test/support/journal-lines.js';
import { makeTestFolder } from '../../../test/support/test-folder.js';
import { until } from '../../../test/support/wait.js';
import { LockHeld } from '../../base/common/lock.js';
import { WorkerCalls } from '../../base/common/worker-calls.js';
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

  it('brings each record, however many segments are finished before the drain looks', async () => {
    journal = await openFileJournal(folder, hear);
    const appended = Array.from({ length: 100 }, (_, n) => `r${n}`);
    for (const id of appended) await journal.tryAppend({ id, start: { long: 'x'.repeat(60) }, end: {} });
    await until(() => committed() === appended.length, { what: 'all records to be committed' });
    expect(ids()).toEqual(appended);
  });

  it('serves one that is opened on another thread', async () => {
    const script = new URL('../../../test/fixtures/workers/journal.worker.mjs', import.meta.url);
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

  it.each([
    ['the last of ten digits', 9_999_999_999, 10_000_000_000],
    ['more than a 32-bit number', 3_000_000_000, 3_000_000_001],
    ['of eleven digits', 20_000_000_000, 20_000_000_001],
  ])('goes on after a segment whose number is %s', async (_what, last, next) => {
    writeFileSync(segmentPath(folder, 9), journalText([{ id: 'a', start: {}, end: {} }]));
    writeFileSync(segmentPath(folder, last), journalText([{ id: 'b', start: {}, end: {} }]));
    journal = await openFileJournal(folder, hear);
    await journal.replayed;
    for (const id of ['c', 'd']) await journal.tryAppend({ id, start: { long: 'x'.repeat(200) }, end: {} });
    await journal.flush();
    expect(ids()).toEqual(['a', 'b', 'c', 'd']);
    expect(journal.state.depth).toBe(0);
    expect(segmentsIn(folder)).toEqual([next + 1]);
  });

  it('leaves alone what bears the name of a segment and is none', async () => {
    execFileSync('mkfifo', [segmentPath(folder, 3)]);
    mkdirSync(segmentPath(folder, 5));
    symlinkSync('/dev/zero', segmentPath(folder, 1));
    const others = ['00000000002.journal', '99999999999999999.journal', '7.journal', '0000000004.journal~'];
    for (const name of others) writeFileSync(join(folder, name), 'no journal');
    journal = await openFileJournal(folder, hear);
    await journal.tryAppend({ id: 'a', start: {}, end: {} });
    await journal.flush();
    expect(ids()).toEqual(['a']);
    expect(news.filter(({ event }) => event !== 'committed')).toEqual([]);
    expect(segmentsIn(folder)).toEqual([2]);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(others));
  });

  it('says which file is in the way where no number is left', async () => {
    writeFileSync(segmentPath(folder, Number.MAX_SAFE_INTEGER), '');
    await expect(openFileJournal(folder, hear)).rejects.toThrow(/9007199254740991\.journal: move that file/);
  });
});
