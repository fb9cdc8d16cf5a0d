/**
 * Loaded into the server beside its own code (`node --import`): on SIGUSR2 it collects garbage and writes what memory
 * is left into the file CHAOS_PROBE.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const file = process.env.CHAOS_PROBE;
let taken = 0;

process.on('SIGUSR2', () => {
  collect();
  collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  // Whole or not at all: the reader looks while this is written.
  writeFileSync(`${file}.new`, JSON.stringify({ taken: ++taken, rss, heapUsed, external }));
  renameSync(`${file}.new`, file);
});
