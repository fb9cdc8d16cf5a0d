import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Surroundings } from '../surroundings.js';

/** Starts the server of this package as `npm start` does, with the Node that runs this. */
export function startServer(
  { root, dataDir, environment }: Surroundings,
  stdio: StdioOptions,
  settings: Readonly<Record<string, string>> = {},
): ChildProcess {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return spawn('sh', ['-c', scripts.start], {
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
