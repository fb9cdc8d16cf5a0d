import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EmbeddedPostgres,
  type RunningPostgres,
} from '../../src/base/database/embedded/embedded-postgres.js';
import { commandLineOf, identityOf } from '../../src/base/common/process-identity.js';
import { built } from '../support/built.js';
import { startOwner } from '../support/embedded-owner.js';
import { processesWith } from '../support/processes.js';
import { query } from '../support/test-server.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// Real: PostgreSQL, the npm package's programs, Node processes that own a server. Mocked: nothing.
describe('EmbeddedPostgres', () => {
  let root: string;
  let parent: string;
  let directory: string;
  const start = () => new EmbeddedPostgres({ directory }).start();
  const serversOf = (name: string) => processesWith(`cluster_name=${name}`);
  const nameOf = ({ pid }: { pid: number }) =>
    commandLineOf(pid)
      .find((arg) => arg.startsWith('cluster_name='))
      ?.slice('cluster_name='.length) ?? '';

  beforeAll(() => {
    root = built();
    // A folder of mode 0700 that belongs to us: the user that the server drops to cannot reach what is below.
    parent = makeTestFolder();
    chmodSync(parent, 0o700);
    directory = join(parent, 'postgres');
  });
  afterAll(async () => {
    await new EmbeddedPostgres({ directory }).stopForAll();
    rmSync(parent, { recursive: true, force: true });
  });

  describe('one use', () => {
    let server: RunningPostgres;
    beforeAll(async () => (server = await start()));
    afterAll(() => server.stop());

    it('is PostgreSQL 18 with fsync and checksums on', async () => {
      await expect(query(server.url, 'SHOW server_version')).resolves.toEqual([
        { server_version: expect.stringMatching(/^18\./) },
      ]);
      await expect(query(server.url, 'SHOW fsync')).resolves.toEqual([{ fsync: 'on' }]);
      await expect(query(server.url, 'SHOW data_checksums')).resolves.toEqual([{ data_checksums: 'on' }]);
    });

    it('never runs as root, even below a folder that its user cannot reach', () => {
      expect(statSync(parent).mode & 0o777).toBe(0o700);
      expect(statSync(`/proc/${server.pid}`).uid).not.toBe(0);
      expect(statSync(join(directory, 'data')).uid).toBe(statSync(`/proc/${server.pid}`).uid);
    });

    it('listens on the loopback address only and wants the password', async () => {
      await expect(query(server.url, 'SHOW listen_addresses')).resolves.toEqual([
        { listen_addresses: '127.0.0.1' },
      ]);
      await expect(query(server.url, 'SHOW unix_socket_directories')).resolves.toEqual([
        { unix_socket_directories: '' },
      ]);
      const url = new URL(server.url);
      url.password = 'guess';
      await expect(query(url.toString(), 'SELECT 1')).rejects.toThrow('password authentication failed');
    });

    it('keeps the password to itself', () => {
      expect(statSync(join(directory, 'password')).mode & 0o777).toBe(0o600);
      expect(statSync(directory).mode & 0o777).toBe(0o700);
      expect(commandLineOf(server.pid).join(' ')).not.toContain(new URL(server.url).password);
    });

    it('keeps upper and lower case of all languages apart', async () => {
      await expect(query(server.url, `SELECT lower('ÄÖ') AS low`)).resolves.toEqual([{ low: 'äö' }]);
    });
  });

  it('keeps its data over a restart', async () => {
    const first = await start();
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const name = nameOf(first);
    await first.stop();
    expect(serversOf(name)).toEqual([]);
    const second = await start();
    expect(second.attached).toBe(false);
    await expect(query(second.url, 'SELECT answer FROM kept')).resolves.toEqual([{ answer: 42 }]);
    await second.stop();
    await second.stop();
    expect(identityOf(second.pid)).toBeUndefined();
  });

  it('outlives a kill -9 of its owner: the next start finds it', async () => {
    const owner = await startOwner(root, directory);
    owner.process.kill('SIGKILL');
    await once(owner.process, 'exit');
    const next = await startOwner(root, directory);
    expect(next.server).toEqual({ ...owner.server, attached: true });
    expect(serversOf(nameOf(next.server))).toContain(next.server.pid);
    expect(serversOf(nameOf(next.server))).toHaveLength(1);
    await expect(query(next.server.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    // The killed owner is not counted as a user: the server goes with the last one that lives.
    await next.shutDown();
    expect(identityOf(next.server.pid)).toBeUndefined();
  });

  it('is not hit by the Ctrl-C that ends its owner', async () => {
    const owner = await startOwner(root, directory);
    const name = nameOf(owner.server);
    process.kill(-(owner.process.pid ?? 0), 'SIGINT');
    await once(owner.process, 'exit');
    expect(serversOf(name)).toContain(owner.server.pid);
    await expect(query(owner.server.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    const next = await start();
    expect(next.attached).toBe(true);
    await next.stop();
    expect(serversOf(name)).toEqual([]);
  });

  it('is one server for two first starts at once, and stays until both are done', async () => {
    rmSync(directory, { recursive: true });
    const [one, two, three] = await Promise.all([
      startOwner(root, directory),
      startOwner(root, directory),
      start(),
    ]);
    expect(new Set([one.server.url, two.server.url, three.url]).size).toBe(1);
    expect([one.server, two.server, three].filter(({ attached }) => !attached)).toHaveLength(1);
    await one.shutDown();
    await three.stop();
    await expect(query(two.server.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await two.shutDown();
    expect(identityOf(two.server.pid)).toBeUndefined();
  });

  it('recovers what was committed before it was killed itself', async () => {
    const first = await start();
    await query(first.url, 'CREATE TABLE committed AS SELECT generate_series(1, 1000) AS n');
    process.kill(first.pid, 'SIGKILL');
    await until(() => identityOf(first.pid) === undefined, { what: 'the end of the server' });
    const second = await start();
    expect(second.attached).toBe(false);
    await expect(query(second.url, 'SELECT count(*)::int FROM committed')).resolves.toEqual([
      { count: 1000 },
    ]);
    await second.stop();
  });

  it('takes a postmaster.pid for stale when its pid is another process by now', async () => {
    const first = await start();
    const pidFile = join(directory, 'data/postmaster.pid');
    const [, ...lines] = readFileSync(pidFile, 'utf8').split('\n');
    const { uid, gid } = statSync(`/proc/${first.pid}`);
    await first.stop();
    // The same user as the server's: PostgreSQL itself would refuse to start.
    const stranger = spawn('sleep', ['60'], { uid, gid });
    writeFileSync(pidFile, [stranger.pid, ...lines].join('\n'));
    const second = await start();
    expect(second.pid).not.toBe(stranger.pid);
    await expect(query(second.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await second.stop();
    expect(identityOf(stranger.pid ?? 0)).toBeDefined();
    stranger.kill('SIGKILL');
    await once(stranger, 'exit');
  });

  it('is not taken for dead, nor its postmaster.pid for stale, while files cannot be opened', async () => {
    const script = `
      import { closeSync, existsSync, openSync } from 'node:fs';
      const [module, directory] = process.argv.slice(1);
      const { EmbeddedPostgres } = await import(module);
      const postgres = new EmbeddedPostgres({ directory });
      const server = await postgres.start();
      const held = [];
      let full;
      while (!full) try { held.push(openSync('/dev/null')); } catch (error) { full = error.code; }
      const running = server.isRunning();
      const again = await postgres.startAgain(server.port).then(() => 'started', (error) => error.code);
      for (const fd of held) closeSync(fd);
      const kept = existsSync(directory + '/data/postmaster.pid');
      const attached = await postgres.startAgain(server.port).then(({ attached }) => attached);
      process.kill(server.pid, 'SIGKILL');
      while (server.isRunning()) await new Promise((resolve) => setTimeout(resolve, 10));
      console.log(JSON.stringify({ full, running, again, kept, attached }));
      process.exit(0);
    `;
    const module = join(root, 'dist/src/base/database/embedded/embedded-postgres.js');
    const node = ['exec', `'${process.execPath}'`, '--input-type=module', '-e', '"$0"', '"$@"'].join(' ');
    const child = spawn('sh', ['-c', `ulimit -n 128; ${node}`, script, module, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(child, 'close');
    const told: unknown = JSON.parse(Buffer.concat(chunks).toString() || '"it ended without a word"');
    expect(told).toEqual({ full: 'EMFILE', running: true, again: 'EMFILE', kept: true, attached: true });
  });

  it('begins anew where an earlier making of the data was cut short', async () => {
    rmSync(directory, { recursive: true });
    mkdirSync(join(directory, 'data.unfinished/base'), { recursive: true });
    const server = await start();
    expect(existsSync(join(directory, 'data.unfinished'))).toBe(false);
    await server.stop();
  });

  it('tells what the server said when it does not start', async () => {
    const wrong = new EmbeddedPostgres({ directory, settings: { shared_buffers: 'many' } });
    await expect(wrong.start()).rejects.toThrow(
      /invalid value for parameter "shared_buffers".*Set DATABASE_URL/s,
    );
    writeFileSync(join(directory, 'data/PG_VERSION'), '9\n');
    await expect(start()).rejects.toThrow(/incompatible with server.*Set DATABASE_URL/s);
    chmodSync(directory, 0o700);
  });
});
