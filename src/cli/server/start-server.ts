import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { dirname } from 'node:path';
import { manifest } from '../../common/project.js';
import type { Surroundings } from '../surroundings.js';

/** Starts the server of this package as `npm start` does, with the Node that runs this. */
export function startServer(
  { root, dataDir, environment }: Surroundings,
  stdio: StdioOptions,
  settings: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn('sh', ['-c', manifest().scripts.start], {
    cwd: root,
    env: {
      ...environment,
      PATH: `${dirname(process.execPath)}:${environment['PATH'] ?? ''}`,
      TOOLKEEPER_DATA_DIR: dataDir,
      ...settings,
    },
    stdio,
  });
}

/** The server in the foreground. @returns its exit code */
export function start(surroundings: Surroundings): Promise<number> {
  const child = startServer(surroundings, 'inherit');
  // A Ctrl-C reaches it by itself; this process goes on until it has drained.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
