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
import { type Durability, JournalWriter } from './journal-writer.js';
import { segmentPath, segmentsIn } from './segment-files.js';

describe('JournalWriter', () => {
  let folder: string;
  const failures: unknown[] = [];
  const report = { failed: (error: unknown) => void failures.push(error) };
  const open = (segmentBytes = 1_000, durability: Durability = 'process'): JournalWriter =>
    new JournalWriter({ folder, segmentBytes, durability, firstSegment: 1 }, report);
  const written = (segment = 1): string => readFileSync(segmentPath(folder, segment), 'utf8');

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'journal-'));
    failures.length = 0;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each<Durability>(['process', 'power'])(
    'answers when the line is in the file (%s)',
    async (durability) => {
      const writer = open(1_000, durability);
      const answer = writer.tryAppend('a\n');
      expect(written()).toBe('');
      await expect(answer).resolves.toBe(true);
      expect(written()).toBe('a\n');
      await writer.append('b\n');
      expect(written()).toBe('a\nb\n');
      expect(writer.bytes).toBe(4);
      await writer.close();
    },
  );

  it('gives all that one turn brings one answer', async () => {
    const writer = open();
    const answers = [writer.append('a\n'), writer.tryAppend('b\n'), writer.append('c\n')];
    expect(new Set(answers).size).toBe(1);
    await Promise.all(answers);
    expect(written().split('\n').sort().join('')).toBe('abc');
    await writer.close();
  });

  it.each<Durability>(['process', 'power'])('goes on in the next segment (%s)', async (durability) => {
    const writer = open(3, durability);
    for (const line of ['a\n', 'b\n', 'c\n', 'd\n']) await writer.append(line);
    expect(segmentsIn(folder)).toEqual([1, 2]);
    expect([written(1), written(2)]).toEqual(['a\nb\n', 'c\nd\n']);
    writer.removed(1);
    expect(writer.bytes).toBe(4);
    writer.removed(1);
    expect(writer.bytes).toBe(4);
    await expect(writer.close()).resolves.toBe(true);
  });

  it('gives up what was tried, and keeps what must be kept, in order', async () => {
    const writer = open(1);
    await writer.append('a\n');
    rmSync(folder, { recursive: true });
    const tried = writer.tryAppend('tried\n');
    const kept = [writer.append('b\n')];
    await expect(tried).resolves.toBe(false);
    kept.push(writer.append('c\n'));
    await expect(Promise.all(kept)).resolves.toEqual([false, false]);
    expect(failures.map(String).filter((failure) => failure.includes('ENOENT'))).toHaveLength(2);
    mkdirSync(folder);
    await expect(writer.append('d\n')).resolves.toBe(true);
    expect(written(2)).toBe('b\nc\nd\n');
    await writer.close();
  });

  it('tries again by itself', async () => {
    const writer = open(1);
    await writer.append('a\n');
    rmSync(folder, { recursive: true });
    await expect(writer.append('b\n')).resolves.toBe(false);
    mkdirSync(folder);
    // Nobody appends any more: only the writer itself can bring it there.
    const { until } = await import('../../../test/support/wait.js');
    await until(() => readdirSync(folder).length > 0 && written(2) === 'b\n', { what: 'the second try' });
    await writer.close();
  });

  it('takes no starts while there is no room but the reserve, and takes them again when there is', async () => {
    let room = false;
    const reserve = { take: () => room, giveUp: () => undefined };
    const settings = { folder, segmentBytes: 1_000, durability: 'process', firstSegment: 1 } as const;
    const writer = new JournalWriter(settings, report, reserve);
    await expect(Promise.all([writer.append('end\n'), writer.tryAppend('start\n')])).resolves.toEqual([
      false,
      false,
    ]);
    await expect(writer.append('another end\n')).resolves.toBe(true);
    expect(written()).toBe('end\nanother end\n');
    room = true;
    const { until } = await import('../../../test/support/wait.js');
    await until(() => writer.tryAppend('start\n'), { what: 'room' });
    expect(written()).toBe('end\nanother end\nstart\n');
    await writer.close();
  });

  it('says at its end that something is left', async () => {
    const writer = open(1);
    await writer.append('a\n');
    rmSync(folder, { recursive: true });
    void writer.append('b\n');
    await expect(writer.close()).resolves.toBe(false);
  });

  it('never writes again after its end: the descriptor may be that of another file', async () => {
    const writer = open();
    await writer.append('a\n');
    await writer.close();
    const other = openSync(join(folder, 'other'), 'w+');
    await expect(writer.append('b\n')).resolves.toBe(false);
    closeSync(other);
    expect([readFileSync(join(folder, 'other'), 'utf8'), written()]).toEqual(['', 'a\n']);
    expect(failures).toEqual([new Error('The journal is closed')]);
  });

  it('never writes over a segment', () => {
    open();
    expect(() => open()).toThrow('EEXIST');
  });

  it('lets nobody else read', async () => {
    const writer = open();
    expect(statSync(segmentPath(folder, 1)).mode & 0o077).toBe(0);
    await writer.close();
  });
});
