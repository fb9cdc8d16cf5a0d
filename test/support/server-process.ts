import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { manifest } from '../../src/base/common/project.js';
import { loadConfig } from '../../src/base/config/app-config.js';
import { adminKeyOf, bearer } from './admin-key.js';
import { built } from './built.js';
import { noPlaybooks } from './playbooks-dir.js';
import { until } from './wait.js';

export interface ServerProcess {
  readonly child: ChildProcess;
  /** http://127.0.0.1:<port> */
  readonly url: string;
  /** The header that shows its admin key. */
  readonly key: { readonly authorization: string };
  readonly log: () => string;
  /** Sends the signal and waits for the end. @returns the exit code, null when a signal ended it */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts the built server as `npm start` does, without playbooks unless asked for, and waits until it says that it is ready.
 * @param before what the shell does first, such as `ulimit -n 256`
 */
export async function startServer(
  variables: Record<string, string>,
  readyWithinMs = 60_000,
  before = ':',
): Promise<ServerProcess> {
  const { child, log } = launchServer(variables, before);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const url = await until(
    () => {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}:\n${log()}`);
      return /ready: (http:\/\/[\d.:]+)/.exec(log())?.[1];
    },
    { timeoutMs: readyWithinMs, what: 'the server to be ready' },
  );
  return {
    child,
    url,
    key: bearer(adminKeyOf(loadConfig(variables))),
    log,
    end: async (signal) => {
      child.kill(signal);
      return (await ended)[0];
    },
  };
}

/** For starts that are expected to fail. */
export function launchServer(
  variables: Record<string, string>,
  before = ':',
): { child: ChildProcess; log: () => string } {
  const root = built();
  const { DATABASE_URL: _theRunsOwn, ...inherited } = process.env;
  // With the Node of this run first, as npm would find it; `exec` makes the server this very child.
  const path = `${dirname(process.execPath)}:${inherited['PATH'] ?? ''}`;
  const child = spawn('sh', ['-c', `${before}; ${manifest().scripts.start}`], {
    cwd: root,
    env: {
      ...inherited,
      PATH: path,
      PORT: '0',
      PLAYBOOKS_DIR: noPlaybooks,
      SANDBOX_GRANTABLE_PATHS: tmpdir(),
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { child, log: () => text };
}
