import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { journalLine } from '../../../test/support/journal-lines.js';
import { until } from '../../../test/support/wait.js';
import { decodeLine, splitLines } from './journal-entry.js';
import { type Appended, type Durability, JournalWriter } from './journal-writer.js';
import { segmentPath, segmentsIn } from './segment-files.js';

describe('JournalWriter', () => {
  let folder: string;
  const failures: unknown[] = [];
  const report = { failed: (error: unknown) => void failures.push(error) };
  const open = (segmentBytes = 1_000, durability: Durability = 'process'): JournalWriter =>
    new JournalWriter({ folder, segmentBytes, durability }, report);
  const linesOf = (segment = 1): Buffer[] => splitLines(readFileSync(segmentPath(folder, segment))).lines;
  /** Ids of what is in a segment, in order. */
  const written = (segment = 1): string =>
    linesOf(segment)
      .map((line) => decodeLine(line)?.entry.id)
      .join(' ');
  const entry = (id: string): Appended => ({ json: JSON.stringify({ id }), completes: false });
  const bytesOfLine = Buffer.byteLength(journalLine({ id: 'a' }, 0, Date.now()));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'journal-'));
    failures.length = 0;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each<Durability>(['process', 'power'])(
    'answers when the line is in the file (%s)',
    async (durability) => {
      const writer = open(1_000, durability);
      const answer = writer.append(entry('a'), 'optional');
      expect(written()).toBe('');
      await expect(answer).resolves.toBe(true);
      expect(written()).toBe('a');
      await writer.append(entry('b'));
      expect(written()).toBe('a b');
      expect(writer.bytes).toBe(2 * bytesOfLine);
      await writer.close();
    },
  );

  it('gives all that one turn brings one answer', async () => {
    const writer = open();
    const answers = [
      writer.append(entry('a')),
      writer.append(entry('b'), 'optional'),
      writer.append(entry('c')),
    ];
    expect(new Set(answers).size).toBe(1);
    await Promise.all(answers);
    expect(written().split(' ').sort()).toEqual(['a', 'b', 'c']);
    await writer.close();
  });

  it.each<Durability>(['process', 'power'])('goes on in the next segment (%s)', async (durability) => {
    const writer = open(bytesOfLine + 1, durability);
    for (const id of ['a', 'b', 'c', 'd']) await writer.append(entry(id));
    expect(segmentsIn(folder)).toEqual([1, 2]);
    expect([written(1), written(2)]).toEqual(['a b', 'c d']);
    writer.onRemoved(1);
    expect(writer.bytes).toBe(2 * bytesOfLine);
    writer.onRemoved(1);
    expect(writer.bytes).toBe(2 * bytesOfLine);
    await expect(writer.close()).resolves.toBe(true);
  });

  it('gives up what was tried, and keeps what must be kept, in order', async () => {
    const writer = open(1);
    await writer.append(entry('a'));
    rmSync(folder, { recursive: true });
    const tried = writer.append(entry('tried'), 'optional');
    const kept = [writer.append(entry('b'))];
    await expect(tried).resolves.toBe(false);
    kept.push(writer.append(entry('c')));
    await expect(Promise.all(kept)).resolves.toEqual([false, false]);
    expect(failures.map(String).filter((failure) => failure.includes('ENOENT'))).toHaveLength(2);
    mkdirSync(folder);
    await expect(writer.append(entry('d'))).resolves.toBe(true);
    expect(written(2)).toBe('b c d');
    await writer.close();
  });

  it('tries again by itself', async () => {
    const writer = open(1);
    await writer.append(entry('a'));
    rmSync(folder, { recursive: true });
    await expect(writer.append(entry('b'))).resolves.toBe(false);
    mkdirSync(folder);
    // Nobody appends any more: only the writer itself can bring it there.
    await until(() => readdirSync(folder).length > 0 && written(2) === 'b', { what: 'the second try' });
    await writer.close();
  });

  it('takes no starts while there is no room but the reserve, and takes them again when there is', async () => {
    let room = false;
    const reserve = { take: () => room, release: () => undefined };
    const settings = { folder, segmentBytes: 1_000, durability: 'process' } as const;
    const writer = new JournalWriter(settings, report, reserve);
    await expect(
      Promise.all([writer.append(entry('end')), writer.append(entry('start'), 'optional')]),
    ).resolves.toEqual([false, false]);
    await expect(writer.append(entry('another end'))).resolves.toBe(true);
    expect(written()).toBe('end another end');
    await writer.tryAgain();
    expect(writer.takesMore).toBe(false);
    room = true;
    await until(() => writer.append(entry('start'), 'optional'), { what: 'room' });
    expect(writer.takesMore).toBe(true);
    expect(written()).toBe('end another end start');
    await writer.close();
  });

  it('finds out by itself when asked that it can be written again', async () => {
    const writer = open(1);
    await writer.append(entry('a'));
    rmSync(folder, { recursive: true });
    expect(writer.takesMore).toBe(true);
    await expect(writer.append(entry('b'), 'optional')).resolves.toBe(false);
    await writer.tryAgain();
    expect(writer.takesMore).toBe(false);
    mkdirSync(folder);
    await until(() => writer.tryAgain().then(() => writer.takesMore), { what: 'the folder' });
    await writer.tryAgain();
    expect(written(2)).toBe('-');
    await writer.close();
    expect(writer.takesMore).toBe(false);
  });

  it('says at its end that something is left', async () => {
    const writer = open(1);
    await writer.append(entry('a'));
    rmSync(folder, { recursive: true });
    void writer.append(entry('b'));
    await expect(writer.close()).resolves.toBe(false);
  });

  it('never writes again after its end: the descriptor may be that of another file', async () => {
    const writer = open();
    await writer.append(entry('a'));
    await writer.close();
    const other = openSync(join(folder, 'other'), 'w+');
    await expect(writer.append(entry('b'))).resolves.toBe(false);
    closeSync(other);
    expect([readFileSync(join(folder, 'other'), 'utf8'), written()]).toEqual(['', 'a']);
    expect(failures).toEqual([new Error('The journal is closed')]);
  });

  it('never writes over a segment, and counts those it finds', async () => {
    const first = open();
    await first.append(entry('a'));
    const second = open();
    expect([segmentsIn(folder), second.replayThrough, second.bytes]).toEqual([[1, 2], 1, bytesOfLine]);
    await Promise.all([first.close(), second.close()]);
  });

  it('lets nobody else read', async () => {
    const writer = open();
    expect(statSync(segmentPath(folder, 1)).mode & 0o077).toBe(0);
    await writer.close();
  });
});
