import { LineFramer } from '../../common/line-framer.js';
import { LocalServer } from '../server/local-server.js';
import type { Surroundings } from '../surroundings.js';
import { Relay } from './relay.js';

/** As much as the server takes in a body. */
const maxLineBytes = 64 * 1_048_576;

/** MCP over stdin and stdout, for clients that start their servers; it ends when the client closes stdin. */
export async function mcp(surroundings: Surroundings): Promise<void> {
  const server = new LocalServer(surroundings);
  const relay = new Relay(server, (line) => process.stdout.write(`${line}\n`));
  const framer = new LineFramer(maxLineBytes, {
    line: (text) => {
      if (text.trim() !== '') relay.take(text);
      return true;
    },
    overflow: () => process.stdin.destroy(),
  });
  // Started while the client is still introducing itself; what is wrong is told with its first request.
  server
    .address()
    .catch((error: unknown) => process.stderr.write(`toolkeeper: ${(error as Error).message}\n`));
  const over = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) process.stdin.on(event, () => resolve());
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => resolve());
    // A client that is gone cannot be written to.
    process.stdout.on('error', () => resolve());
  });
  process.stdin.on('data', (chunk: Buffer) => framer.push(chunk));
  await over;
  process.stdin.destroy();
  await relay.end();
  await server.stop();
}
