import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { startServer } from '../support/server-process.js';
import { createTestDatabase } from '../support/database.js';
import { makeTestFolder } from '../support/test-folder.js';

/** What Node asks for when nobody says more. */
const usual = 511;
const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
const callers = Math.min(most, 2 * usual);

describe('a server whose event loop stands still', () => {
  it(`keeps ${callers} callers who come meanwhile, and answers them all`, async () => {
    const database = await createTestDatabase();
    const server = await startServer({
      DATABASE_URL: database.url,
      TOOLKEEPER_DATA_DIR: makeTestFolder(),
    });
    const { port } = new URL(server.url);
    server.child.kill('SIGSTOP');
    const sockets = Array.from({ length: callers }, () => connect(Number(port), '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const answers = sockets.map(async (socket) => {
      socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return chunk.toString().split('\r\n')[0];
    });
    server.child.kill('SIGCONT');
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['HTTP/1.1 200 OK']));
    expect(await server.end('SIGTERM')).toBe(0);
    await database.release();
  });
});
