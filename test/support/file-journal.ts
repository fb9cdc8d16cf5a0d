import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { drainThread } from '../../src/records/journal/drain-thread.js';
import { Journal, type JournalListener } from '../../src/records/journal/journal.js';

const recordsIn = (folder: string): string => join(folder, 'records');

/** A journal whose records go into a file of its folder. */
export const openFileJournal = (
  folder: string,
  tell: JournalListener = () => undefined,
): Promise<Journal<object, object>> =>
  Journal.open(
    {
      journalDir: folder,
      maxBytes: 1_600,
      durability: 'process',
      batchSize: 100,
      flushIntervalMs: 5,
      drain: drainThread(
        new URL('../fixtures/workers/file-drain.worker.mjs', import.meta.url),
        recordsIn(folder),
      ),
    },
    tell,
  );

/** What arrived, in order. */
export function fileRecords(folder: string): { id: string; start: unknown; end?: unknown }[] {
  if (!existsSync(recordsIn(folder))) return [];
  const lines = readFileSync(recordsIn(folder), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as { id: string; start: unknown; end?: unknown });
}
