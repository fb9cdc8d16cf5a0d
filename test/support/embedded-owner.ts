import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A Node process of its own, running the built sources, that uses the embedded server of a folder. */
export interface EmbeddedOwner {
  readonly process: ChildProcess;
  readonly server: { url: string; pid: number; attached: boolean };
  /** Lets the process stop the server as at a shutdown, and waits for its end. */
  shutDown(): Promise<void>;
}

const script = `
  const [built, directory] = process.argv.slice(1);
  const { EmbeddedPostgres } = await import(built);
  const { stop, ...server } = await new EmbeddedPostgres({ directory }).start();
  console.log(JSON.stringify(server));
  process.stdin.once('data', async () => { await stop(); process.exit(0); });
`;

/**
 * @param built the project's root, built
 * @param directory the server's folder
 */
export async function startOwner(built: string, directory: string): Promise<EmbeddedOwner> {
  const module = join(built, 'dist/src/base/database/embedded/embedded-postgres.js');
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, module, directory], {
    // Leader of a group, so that a test can do to it what Ctrl-C in a terminal does.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  const ended = once(child, 'exit');
  const started = await Promise.race([once(lines, 'line'), ended.then(() => undefined)]);
  if (!started) throw new Error('The owner ended before it had the server');
  return {
    process: child,
    server: JSON.parse(String(started[0])),
    shutDown: async () => {
      child.stdin.write('stop\n');
      await ended;
    },
  };
}
