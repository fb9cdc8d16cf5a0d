import fc from 'fast-check';
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { journalLine, journalText } from '../../../test/support/journal-lines.js';
import type { JournalEntry, JournalRecord } from './journal-entry.js';
import { type DrainNews, JournalDrain, type Settled } from './journal-drain.js';
import { segmentPath, segmentsIn, WrittenMark } from './segment-files.js';

const start = (id: string): JournalEntry => ({ id, start: { began: id } });
const end = (id: string): JournalEntry => ({ id, end: { ended: id } });
const discard = (id: string): JournalEntry => ({ id });

class RecordFault extends Error {}

/** real: the files; in memory: the table */
class Table {
  readonly records = new Map<string, JournalRecord>();
  readonly quarantined: string[] = [];
  readonly batches: number[] = [];
  readonly poison = new Set<string>();
  away = false;

  insert(records: readonly JournalRecord[]): Promise<void> {
    if (this.away) return Promise.reject(new Error('away'));
    if (records.some(({ id }) => this.poison.has(id))) return Promise.reject(new RecordFault('poison'));
    this.batches.push(records.length);
    for (const record of records) if (!this.records.has(record.id)) this.records.set(record.id, record);
    return Promise.resolve();
  }

  quarantine({ id }: JournalRecord): Promise<void> {
    this.quarantined.push(id);
    return Promise.resolve();
  }

  isRecordFault(error: unknown): boolean {
    return error instanceof RecordFault;
  }

  /** How a record came out; undefined: there is none. */
  endOf(id: string): string | undefined {
    const record = this.records.get(id);
    return record && (record.end ? 'ended' : 'interrupted');
  }
}

describe('JournalDrain', () => {
  let folder: string;
  let table: Table;
  const said: DrainNews[] = [];
  let settled: Settled;
  const write = (segment: number, ...entries: JournalEntry[]): void =>
    writeFileSync(segmentPath(folder, segment), journalText(entries), { flag: 'a' });
  const drainOf = (replayThrough = 0, batchSize = 100, mark?: WrittenMark): JournalDrain =>
    new JournalDrain({ folder, batchSize, replayThrough, written: mark?.memory }, table, (news) => {
      if (news.event === 'settled') settled = { place: news.place, at: news.at };
      else said.push(news);
    });
  const drainAll = async (drain: JournalDrain): Promise<void> => {
    while (await drain.step());
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'journal-'));
    table = new Table();
    said.length = 0;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('puts starts and ends together', async () => {
    write(1, start('a'), start('b'), end('b'), end('a'));
    const drain = drainOf();
    await drainAll(drain);
    expect([...table.records.keys()]).toEqual(['b', 'a']);
    expect(table.records.get('a')).toEqual({ id: 'a', start: { began: 'a' }, end: { ended: 'a' } });
    expect(settled).toEqual({ place: 2, at: 1_005 });
  });

  it('takes records in one piece as well', async () => {
    write(1, { id: 'a', start: { n: 1 }, end: {} }, start('b'), { id: 'c', start: { n: 2 }, end: {} });
    write(2);
    const drain = drainOf();
    await drainAll(drain);
    expect([...table.records.keys()]).toEqual(['a', 'c']);
    expect(settled.place).toBe(2);
    expect(segmentsIn(folder)).toEqual([1, 2]);
    write(2, end('b'));
    await drainAll(drain);
    expect(segmentsIn(folder)).toEqual([2]);
  });

  it('waits for the end of what is in flight, and for the rest of a line', async () => {
    const line = journalLine(end('a'));
    write(1, start('a'));
    writeFileSync(segmentPath(folder, 1), line.slice(0, 10), { flag: 'a' });
    const drain = drainOf();
    await drainAll(drain);
    expect(table.records.size).toBe(0);
    writeFileSync(segmentPath(folder, 1), line.slice(10), { flag: 'a' });
    await drainAll(drain);
    expect(table.endOf('a')).toBe('ended');
  });

  it('writes batches of the given size', async () => {
    write(1, ...Array.from({ length: 25 }, (_, n) => [start(`${n}`), end(`${n}`)]).flat());
    await drainAll(drainOf(0, 10));
    expect(table.batches).toEqual([10, 10, 5]);
  });

  it('forgets what was refused after all', async () => {
    write(1, start('a'), discard('a'), discard('never started'), end('a'));
    write(2);
    await drainAll(drainOf(1));
    expect(table.records.size).toBe(0);
    expect(said).toEqual([
      { event: 'removed', segment: 1 },
      { event: 'replayed', records: 0, interrupted: 0 },
    ]);
  });

  it('marks what an earlier gateway left without an end, and nothing of its own', async () => {
    write(1, start('lost'), start('ended'));
    write(2, end('ended'), start('lost too'));
    write(3, start('in flight'));
    await drainAll(drainOf(2));
    expect(table.endOf('lost')).toBe('interrupted');
    expect(table.endOf('lost too')).toBe('interrupted');
    expect(table.endOf('ended')).toBe('ended');
    expect(table.endOf('in flight')).toBeUndefined();
    expect(segmentsIn(folder)).toEqual([3]);
    expect(said.at(-1)).toEqual({ event: 'replayed', records: 3, interrupted: 2 });
  });

  it('keeps a segment until the last of its rows is committed', async () => {
    write(1, start('slow'), start('a'), end('a'));
    write(2, start('b'), end('b'));
    write(3);
    const drain = drainOf();
    await drainAll(drain);
    expect(segmentsIn(folder)).toEqual([1, 3]);
    write(3, end('slow'));
    await drainAll(drain);
    expect(segmentsIn(folder)).toEqual([3]);
  });

  it('sends the same rows again after a failure, and adds nothing twice after its death', async () => {
    write(1, start('a'), end('a'));
    write(2);
    table.away = true;
    const drain = drainOf();
    await expect(drain.step()).rejects.toThrow('away');
    expect(segmentsIn(folder)).toEqual([1, 2]);
    table.away = false;
    const before = readFileSync(segmentPath(folder, 1));
    await drainAll(drain);
    expect([table.records.size, segmentsIn(folder)]).toEqual([1, [2]]);
    // It died between the commit and the removal.
    writeFileSync(segmentPath(folder, 1), before);
    await drainAll(drainOf());
    expect([table.records.size, segmentsIn(folder)]).toEqual([1, [2]]);
  });

  it('sets poison aside and nothing else', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => `${n}`);
    for (const id of ['0', '41', '42', '99']) table.poison.add(id);
    write(1, ...ids.flatMap((id) => [start(id), end(id)]));
    const drain = drainOf();
    await drainAll(drain);
    expect(table.quarantined).toEqual(['0', '41', '42', '99']);
    expect(table.records.size).toBe(96);
    expect(settled.place).toBe(100);
  });

  it('leaves an empty folder when nothing is left, and everything otherwise', async () => {
    write(1, start('a'));
    const drain = drainOf();
    expect(drain.finish()).toBe(false);
    await drainAll(drain);
    expect([drain.finish(), segmentsIn(folder)]).toEqual([false, [1]]);
    write(1, end('a'));
    await drainAll(drain);
    expect([drain.finish(), segmentsIn(folder)]).toEqual([true, []]);
  });

  it('never takes for interrupted what is in flight here, whenever it starts again', async () => {
    write(2, start('in flight'));
    write(3, end('in flight'));
    // The thread died and was started again: the earlier gateways' segments, up to 1, are gone since long.
    await drainAll(drainOf(1));
    expect(table.endOf('in flight')).toBe('ended');
    expect(said.at(-1)).toEqual({ event: 'replayed', records: 0, interrupted: 0 });
  });

  it('interrupts what earlier gateways left once, however much of its own it reads before they are committed', async () => {
    write(1, start('lost'));
    write(2, start('in flight'));
    write(3, end('in flight'));
    table.away = true;
    const drain = drainOf(1);
    await expect(drain.step()).rejects.toThrow('away');
    table.away = false;
    await drainAll(drain);
    expect(table.endOf('lost')).toBe('interrupted');
    expect(table.endOf('in flight')).toBe('ended');
  });

  it('keeps what explains a start for as long as the start is there', async () => {
    table.poison.add('poison');
    write(1, start('slow'), start('refused'), start('poison'));
    write(2, discard('refused'));
    write(3, end('poison'));
    write(4);
    const drain = drainOf();
    await drainAll(drain);
    expect(segmentsIn(folder)).toEqual([1, 2, 3, 4]);
    // The gateway dies; what made the row poison is not in what an interruption would record.
    table.poison.clear();
    write(5);
    await drainAll(drainOf(4));
    expect(table.endOf('slow')).toBe('interrupted');
    expect(table.endOf('refused')).toBeUndefined();
    expect(table.endOf('poison')).toBe('ended');
  });

  it('lets go of what explained a start that is gone', async () => {
    write(1, start('slow'), start('refused'));
    write(2, discard('refused'));
    write(3, end('slow'));
    write(4);
    await drainAll(drainOf());
    expect(segmentsIn(folder)).toEqual([4]);
  });

  it('reads no further than its writer says', async () => {
    const mark = new WrittenMark();
    write(1, start('a'), end('a'));
    const promised = statSync(segmentPath(folder, 1)).size;
    mark.set(1, promised);
    // The half of a batch whose write fails, seen before the writer cuts it off.
    write(1, start('refused'));
    const drain = drainOf(0, 100, mark);
    await drainAll(drain);
    truncateSync(segmentPath(folder, 1), promised);
    write(1, start('b'), end('b'));
    write(2);
    mark.set(2, 0);
    await drainAll(drain);
    expect([...table.records.keys()]).toEqual(['a', 'b']);
    expect([segmentsIn(folder), said]).toEqual([[2], [{ event: 'removed', segment: 1 }]]);
  });

  it('reports damage of the last segment too', async () => {
    write(1, start('a'), end('a'));
    writeFileSync(segmentPath(folder, 1), 'no entry\n', { flag: 'a' });
    const drain = drainOf();
    await drainAll(drain);
    expect(drain.finish()).toBe(true);
    expect(said).toContainEqual({ event: 'damaged', segment: 1, lines: 1, bytes: 9 });
  });

  it('survives 1,000 torn and flipped journals: what is whole arrives as it was, nothing else does', async () => {
    const ids = Array.from({ length: 12 }, (_, n) => `id-${n}`);
    const whole = Buffer.from(journalText(ids.flatMap((id) => [start(id), end(id)])));
    const lines = whole.toString().split('\n');
    const damage = fc.oneof(
      fc.record({ cut: fc.nat(whole.length - 1) }),
      fc.record({
        flips: fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(damage, async (each) => {
        const journal = Buffer.from('cut' in each ? whole.subarray(0, each.cut) : whole);
        if ('flips' in each) for (const [at, by] of each.flips) journal[at] = (journal[at] ?? 0) ^ by;
        rmSync(folder, { recursive: true });
        folder = mkdtempSync(join(tmpdir(), 'journal-'));
        writeFileSync(segmentPath(folder, 1), journal);
        write(2);
        table = new Table();
        said.length = 0;
        await drainAll(drainOf(1));
        // A line without its line feed may lack more.
        const intact = new Set(journal.toString().split('\n').slice(0, -1));
        const has = (n: number): boolean => intact.has(lines[n] ?? '?');
        ids.forEach((id, n) => {
          const started = has(2 * n);
          const ended = has(2 * n + 1);
          const expected = started ? (ended ? 'ended' : 'interrupted') : undefined;
          expect([id, table.endOf(id)]).toEqual([id, expected]);
        });
        expect(table.records.size).toBe(ids.filter((_, n) => has(2 * n)).length);
        expect(segmentsIn(folder)).toEqual([2]);
        if (!journal.equals(whole) && journal.at(-1) !== 0x0a && journal.length > 0)
          expect(said).toContainEqual(expect.objectContaining({ event: 'damaged', segment: 1 }));
      }),
      { numRuns: 1_000 },
    );
  });
});
