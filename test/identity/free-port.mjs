import { createServer } from 'node:net';

/** A port of the loopback address that nobody used just now: an audience must be known before its server starts. */
export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
