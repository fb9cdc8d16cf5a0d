import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, lives, type ProcessIdentity } from './process-identity.js';

/** The address of a running server, as its data directory stores it. */
export interface RunningServer {
  readonly url: string;
  readonly process: ProcessIdentity;
}

const fileIn = (dataDir: string): string => join(dataDir, 'server.json');

/** Writes the server's address to the data directory for the command line. The file is removed when this process ends. */
export function announceServer(dataDir: string, url: string): void {
  const file = fileIn(dataDir);
  const draft = `${file}.${process.pid}`;
  try {
    const identity = identityOf(process.pid);
    writeFileSync(draft, `${JSON.stringify({ url, process: identity })}\n`, { mode: 0o600 });
    renameSync(draft, file);
    process.once('exit', () => {
      if (identity && runningServer(dataDir)?.process === identity) rmSync(file, { force: true });
    });
  } catch {
    // For example, the directory is not writable: clients need the address by option or environment.
  }
}

/** The server of a data directory. Undefined if none runs; the file of a killed one is ignored. */
export function runningServer(dataDir: string): RunningServer | undefined {
  try {
    const server = JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as RunningServer;
    return server.process && lives(server.process) ? server : undefined;
  } catch {
    return undefined;
  }
}
