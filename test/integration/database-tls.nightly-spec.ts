import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EmbeddedPostgres,
  type RunningPostgres,
} from '../../src/base/database/embedded/embedded-postgres.js';
import { serverUserFor } from '../../src/base/database/embedded/server-process.js';
import { launchServer, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { query } from '../support/test-server.js';

// real: PostgreSQL with TLS, certificates of openssl, the built server; mock: nothing

const folder = makeTestFolder();
const at = (name: string): string => join(folder, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
let postgres: RunningPostgres;

function makeAuthority(name: string): void {
  openssl(
    ...`req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${name} -keyout ${name}.key -out ${name}.crt`.split(
      ' ',
    ),
  );
}

beforeAll(async () => {
  for (const name of ['ca', 'other']) makeAuthority(name);
  openssl(...'req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr'.split(' '));
  writeFileSync(at('names'), 'subjectAltName=IP:127.0.0.1\n');
  openssl(
    ...'x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt'.split(
      ' ',
    ),
  );
  const { uid, gid } = serverUserFor(at('postgres/data'));
  if (uid !== undefined && gid !== undefined) chownSync(at('server.key'), uid, gid);
  chmodSync(at('server.key'), 0o600);
  postgres = await new EmbeddedPostgres({
    directory: at('postgres'),
    settings: { ssl: 'on', ssl_cert_file: at('server.crt'), ssl_key_file: at('server.key') },
  }).start();
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

const settings = (authority: string, host = '127.0.0.1') => ({
  DATABASE_URL: `${postgres.url.replace('127.0.0.1', host)}?sslmode=verify-full&sslrootcert=${at(authority)}`,
  TOOLKEEPER_DATA_DIR: at('data'),
});

it('every connection of the server uses TLS', async () => {
  const server = await startServer(settings('ca.crt'));
  const connections = await query(
    postgres.url,
    `SELECT application_name AS name, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
     WHERE client_addr IS NOT NULL AND pid <> pg_backend_pid()`,
  );
  await server.end('SIGTERM');
  expect(connections).toContainEqual({ name: 'toolkeeper-listener', ssl: true });
  expect(connections).toContainEqual({ name: 'toolkeeper', ssl: true });
  expect(connections.filter(({ ssl }) => ssl !== true)).toEqual([]);
});

it.each([
  ['of another authority', 'other.crt', '127.0.0.1', /unable to verify the first certificate/],
  ['for another host', 'ca.crt', 'localhost', /does not match certificate's altnames/],
])('a certificate %s stops the start', async (_, authority, host, reason) => {
  const { child, log } = launchServer(settings(authority, host));
  expect((await once(child, 'exit'))[0]).toBe(1);
  expect(log()).toMatch(reason);
});
