import type { Surroundings } from '../surroundings.js';
import { startServer } from './start-server.js';

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
