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
 * Says in the data directory where this server is reached, so that the command line finds it, and knows to whom the key
 * beside it may be shown. The end of this process takes it back.
 */
export function announceServer(dataDir: string, url: string): void {
  const file = fileIn(dataDir);
  const own = identityOf(process.pid);
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify({ url, process: own })}\n`, { mode: 0o600 });
    renameSync(draft, file);
  } catch {
    // A directory that cannot be written: whoever looks for the server names its address.
    return;
  }
  process.once('exit', () => {
    if (runningServer(dataDir)?.process === own) rmSync(file, { force: true });
  });
}

/** @returns undefined where no server runs on this data directory; what a killed one left counts for nothing */
export function runningServer(dataDir: string): RunningServer | undefined {
  try {
    const said = JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as RunningServer;
    return said.process && lives(said.process) ? said : undefined;
  } catch {
    return undefined;
  }
}
