import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeEntry, type JournalEntry } from './journal-entry.js';
import { LineEncoder } from './journal-line.js';
import { SegmentReader } from './segment-reader.js';

const entryOf = (n: number, length: number): JournalEntry => ({ discard: `${n} ${'x'.repeat(length)}` });
const bytesOf = (entry: JournalEntry): Buffer => Buffer.from(new LineEncoder().encode([encodeEntry(entry)]));

describe('SegmentReader', () => {
  const folder = mkdtempSync(join(tmpdir(), 'segment-'));
  const path = join(folder, '0000000001.journal');
  afterAll(() => rmSync(folder, { recursive: true }));

  function all(reader: SegmentReader, limit?: number): JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (let next = reader.next(limit); next; next = reader.next(limit)) entries.push(...next);
    return entries;
  }

  it('reads lines of any length, wherever they are cut, also while they are being written', () => {
    const lengths = [10, 200_000, 50, 300_000, 1_000_000, 1, 2_500_000, 7, ...Array(3_000).fill(400)];
    const entries = lengths.map((length, n) => entryOf(n, length));
    const bytes = Buffer.concat(entries.map(bytesOf));
    writeFileSync(path, '');
    const reader = new SegmentReader(path);
    const read: JournalEntry[] = [];
    const step = 333_331;
    for (let from = 0; from < bytes.length; from += step) {
      appendFileSync(path, bytes.subarray(from, from + step));
      read.push(...all(reader));
    }
    expect(read).toEqual(entries);
    expect([reader.end(), reader.damage]).toEqual([false, { lines: 0, bytes: 0 }]);
  });

  it('reads no further than it may', () => {
    const [first, second] = [bytesOf(entryOf(1, 5)), bytesOf(entryOf(2, 5))];
    writeFileSync(path, Buffer.concat([first, second]));
    const reader = new SegmentReader(path);
    expect(all(reader, first.length + 3)).toEqual([entryOf(1, 5)]);
    expect(all(reader, first.length + second.length)).toEqual([entryOf(2, 5)]);
    reader.end();
  });

  it('counts a stretch without an end as damage, and reads on behind it', () => {
    const good = bytesOf(entryOf(1, 5));
    writeFileSync(
      path,
      Buffer.concat([Buffer.alloc(5_000_000, 'x'), Buffer.from('\n'), good, good.subarray(1)]),
    );
    const reader = new SegmentReader(path);
    expect(all(reader)).toEqual([entryOf(1, 5)]);
    expect(reader.damage.bytes).toBeGreaterThanOrEqual(5_000_000);
    writeFileSync(path, good.subarray(0, 9));
    const torn = new SegmentReader(path);
    expect([all(torn), torn.end(), torn.damage]).toEqual([[], true, { lines: 1, bytes: 9 }]);
  });
});
