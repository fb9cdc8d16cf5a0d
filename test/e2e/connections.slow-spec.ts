import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the built server as a process with 256 open files, PostgreSQL, sockets; mock: nothing

const megabyte = 1_048_576;
let db: TestDatabase;
let folder: string;
let server: ServerProcess;
const sockets: Socket[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  folder = makeTestFolder();
  const variables = { DATABASE_URL: db.url, TOOLKEEPER_DATA_DIR: folder, CUSTOM_TOOLS_DIR: folder };
  server = await startServer(variables, 120_000, 'ulimit -n 256');
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await server.end('SIGTERM');
  await db.release();
  rmSync(folder, { recursive: true, force: true });
});

/** A connection of its own that says what it is told to and reads nothing. */
async function open(bytes: string): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => undefined).pause();
  sockets.push(socket);
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

/** The status of `/livez`, asked over a new connection. */
async function livez(): Promise<number | undefined> {
  const sent = request(`${server.url}/livez`, { agent: false }).end();
  const [answer] = await once(sent, 'response');
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode;
}

const residentMB = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) / 1_024;

describe('a server that may open 256 files', () => {
  it.each([
    ['silent', ''],
    ['half a head', 'GET /livez HTTP/1.1\r\nHost: localhost\r\n'],
  ])('answers its probes beside 300 idle connections: %s', async (_what, bytes) => {
    for (let n = 0; n < 300; n++) await open(bytes);
    for (let n = 0; n < 3; n++) expect(await livez()).toBe(200);
    expect(server.log()).not.toMatch(/EMFILE|PostgreSQL has ended/);
  });
});

describe('requests that are sent without reading an answer', () => {
  it('cost the memory of one answer each connection', async () => {
    const key = `Authorization: ${server.key.authorization}`;
    const line = `GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n${key}\r\n\r\n`;
    await fetch(`${server.url}/openapi.json`).then((answer) => answer.text());
    const before = residentMB();
    const flood = line.repeat(Math.ceil(megabyte / line.length));
    for (let n = 0; n < 20; n++) await open(flood);
    let most = 0;
    for (let n = 0; n < 20; n++) {
      expect(await livez()).toBe(200);
      most = Math.max(most, residentMB());
    }
    expect(most - before).toBeLessThan(200);
  });
});
