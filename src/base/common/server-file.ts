import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, lives, type ProcessIdentity } from './process-identity.js';

/** The address of a server, as its data directory names it. */
export interface RunningServer {
  readonly url: string;
  readonly process: ProcessIdentity;
}

const fileIn = (dataDir: string): string => join(dataDir, 'server.json');

/**
 * Writes the server's address to the data directory, so that the command line finds it and knows where it may send the
 * key stored beside it. Removed when this process ends.
 */
export function announceServer(dataDir: string, url: string): void {
  const file = fileIn(dataDir);
  const own = identityOf(process.pid);
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify({ url, process: own })}\n`, { mode: 0o600 });
    renameSync(draft, file);
  } catch {
    // The directory is not writable: clients must be given the address explicitly.
    return;
  }
  process.once('exit', () => {
    if (runningServer(dataDir)?.process === own) rmSync(file, { force: true });
  });
}

/** @returns undefined if no server runs on this data directory; what a killed one left counts for nothing */
export function runningServer(dataDir: string): RunningServer | undefined {
  try {
    const server = JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as RunningServer;
    return server.process && lives(server.process) ? server : undefined;
  } catch {
    return undefined;
  }
}
