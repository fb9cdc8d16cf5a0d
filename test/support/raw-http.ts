import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * Sends bytes over a connection of its own and reads until the server closes it, or says nothing more for a while.
 * @returns everything that came back
 */
export async function sendBytes(url: string, bytes: string | Buffer, quietMs = 300): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined).on('close', () => resolve());
  await once(socket, 'connect');
  socket.setTimeout(quietMs, () => socket.destroy());
  socket.write(bytes);
  await promise;
  return text;
}

/** The status of each answer in what came back. */
export const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
