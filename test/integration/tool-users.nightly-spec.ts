import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityOf } from '../../src/base/common/process-identity.js';
import { loadConfig } from '../../src/base/config/app-config.js';
import { startApp, type TestApp } from '../support/app.js';
import { createTestDatabase } from '../support/database.js';
import type { Json } from '../support/json.js';
import { processesWith } from '../support/processes.js';
import { startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the server with its sandbox, tools that run what they are told, their users, files and processes; mock: nothing.
// Where the suite does not run as root, all tools are the gateway's user, and each test asserts that instead.

const gateway = process.getuid?.() ?? -1;
const firstUid = loadConfig({}).sandbox.firstUid;
const obey = join(__dirname, '..', 'fixtures', 'hostile', 'obey.py');
const folder = makeTestFolder();
const asAnother = { uid: firstUid, gid: firstUid };
/** Whether root can be another user here at all, and whether that one can make namespaces. */
const canBecome =
  gateway === 0 && spawnSync('/bin/sh', ['-c', 'exit 0'], { ...asAnother, cwd: '/' }).status === 0;
const bubblewrap = ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', '/bin/true'];
const canUnshare = spawnSync('bwrap', bubblewrap, { ...(canBecome && asAnother), cwd: '/' }).status === 0;

const folderOf = (name: string, mode = 0o755): string => {
  const path = join(folder, name);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
};
const scriptIn = (path: string): string => {
  const script = join(path, 'obey.py');
  copyFileSync(obey, script);
  chmodSync(script, 0o644);
  return script;
};

let script: string;
let http: Server;
beforeAll(async () => {
  chmodSync(folder, 0o755);
  script = scriptIn(folderOf('tool'));
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi';
  http = createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end(answer)));
  await once(http.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  http.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(canUnshare ? [1, 2] : [1])('with tier %i at most', (maxTier) => {
  let tk: TestApp;
  let tier: number;

  beforeAll(async () => {
    tk = await startApp(
      { SANDBOX_MAX_TIER: String(maxTier) },
      { customTools: { reloadIntervalMs: 86_400_000 } },
    );
    tier = (await registered('first')).tier;
    await registered('second');
  });
  afterAll(() => tk.close());

  const named = (name: string): string => `${name}-${maxTier}-${process.pid}`;
  const shown = async (name: string): Promise<Json> =>
    (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body.effectiveSandbox;
  const registered = async (name: string, settings: Record<string, unknown> = {}): Promise<Json> => {
    const { args = [script, named(name)], ...others } = settings;
    await tk.register(name, { command: '/usr/bin/python3', args, keepAlive: true, ...others });
    return shown(name);
  };
  const run = async (name: string, code: string): Promise<Json> =>
    (await tk.call(name, { code }).expect(200)).body.result;
  const rowOf = async (name: string): Promise<number> => {
    const rows: { user_number: number }[] = await tk.db.dataSource.query(
      'SELECT user_number FROM custom_tools WHERE name = $1',
      [name],
    );
    return rows[0]?.user_number ?? -1;
  };
  const hasUsers = (): boolean => canBecome;
  const whoIs = 'R = [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()]';

  it('each tool runs as a user of its own, that of its row', async () => {
    const uids: number[] = [];
    for (const name of ['first', 'second']) {
      const { runsAs } = await shown(name);
      const expected = hasUsers() ? firstUid + (await rowOf(name)) : gateway;
      expect(runsAs.uid).toBe(expected);
      const { R } = await run(name, whoIs);
      if (hasUsers()) expect(R).toEqual([expected, expected, expected, expected, []]);
      else expect(R.slice(0, 2)).toEqual([gateway, gateway]);
      uids.push(R[0]);
    }
    expect(new Set(uids).size).toBe(hasUsers() ? 2 : 1);
  });

  it('what one makes in a folder of both is its own, and closed to the other', async () => {
    const shared = folderOf(named('shared'), 0o777);
    const settings = { sandbox: { allowedPaths: [shared] }, permissions: { canWriteFiles: true } };
    const { runsAs } = await registered('writer', settings);
    await registered('reader', settings);
    const path = join(shared, 'made');
    const make = `os.write(os.open("${path}", os.O_CREAT | os.O_WRONLY, 0o600), b"mine")`;
    const read = `R = open("${path}").read()`;
    await run('writer', make);
    expect(statSync(path).uid).toBe(runsAs.uid);
    expect(await run('writer', read)).toEqual({ R: 'mine' });
    expect(await run('reader', read)).toEqual(hasUsers() ? { refused: 'Permission denied' } : { R: 'mine' });
  });

  it('neither signals the other or the gateway, nor reads their environment', async () => {
    await run('second', '');
    const others = processesWith(named('second')).filter((pid) => pid !== process.pid);
    expect(others).not.toEqual([]);
    expect((await run('first', 'os.kill(os.getpid(), 0); R = "itself"')).R).toBe('itself');
    if (tier === 0) return;
    for (const pid of [...others, process.pid]) {
      const refused = expect.stringMatching(/not permitted|No such|denied/);
      // In a namespace of its own the number may be that of one of its own processes.
      if (tier === 1) expect(await run('first', `os.kill(${pid}, 0)`)).toEqual({ refused });
      expect(await run('first', `R = len(open("/proc/${pid}/environ").read())`)).toEqual({ refused });
    }
  });

  it('to the kernel its processes are that user, and have no capabilities', async () => {
    const { runsAs } = await shown('first');
    await run('first', '');
    // Those that put it into its sandbox bear the name as well.
    const [tool = ''] = processesWith(named('first'))
      .map((pid) => readFileSync(`/proc/${pid}/status`, 'utf8'))
      .filter((status) => status.startsWith('Name:\tpython3'));
    const { uid } = runsAs;
    expect(tool).toMatch(new RegExp(`^Uid:\\t${uid}\\t${uid}\\t${uid}\\t${uid}$`, 'm'));
    if (tier > 0) expect(tool).toMatch(/^CapEff:\t0+$/m);
  });

  it('its private folder is its own', async () => {
    const look =
      'd = os.environ["TMPDIR"]; s = os.stat(d); open(d + "/kept", "w").write("x"); R = [d, s.st_uid]';
    const { R } = await run('first', look);
    if (tier === 0) {
      expect(R[0]).toBe(tmpdir());
      return;
    }
    const { uid } = (await shown('first')).runsAs;
    expect(R[1]).toBe(uid);
    if (tier > 1) {
      expect(existsSync(join(R[0], 'kept'))).toBe(false);
      return;
    }
    expect([statSync(R[0]).uid, statSync(R[0]).mode & 0o7777]).toEqual([uid, 0o700]);
    expect(statSync(join(R[0], 'kept')).uid).toBe(uid);
    expect(await run('second', `R = os.listdir("${R[0]}")`)).toEqual({ refused: 'Permission denied' });
  });

  it('changes modes of its own files alone, by descriptor too', async () => {
    const before = statSync(script).mode;
    if (!hasUsers()) {
      expect((await shown('first')).runsAs.uid).toBe(gateway);
      return;
    }
    const refused = expect.stringMatching(/not permitted|denied|Read-only/);
    const open = `f = os.open("${script}", os.O_RDONLY)`;
    expect(await run('first', `${open}; os.fchmod(f, 0o4777)`)).toEqual({ refused });
    expect(await run('first', `${open}; os.fchown(f, os.getuid(), -1)`)).toEqual({ refused });
    expect(await run('first', `${open}; os.setxattr(f, "user.a", b"b")`)).toEqual({ refused });
    expect(await run('first', `os.utime("${script}")`)).toEqual({ refused });
    expect(statSync(script).mode).toBe(before);
    const own = 'p = os.environ["TMPDIR"] + "/own"; f = os.open(p, os.O_CREAT | os.O_RDWR, 0o600)';
    expect(await run('first', `${own}; os.fchmod(f, 0o640); R = os.stat(p).st_mode & 0o777`)).toEqual({
      R: 0o640,
    });
    expect(await run('first', `${own}; os.chmod(p, 0o604); R = os.stat(p).st_mode & 0o777`)).toEqual({
      R: 0o604,
    });
  });

  it('opens its own pipes by name', async () => {
    expect(await run('first', 'R = os.write(os.open("/dev/stderr", os.O_WRONLY), b"said")')).toEqual({
      R: 4,
    });
  });

  it('below a folder that is closed to others it is refused, with the path and what opens it', async () => {
    const closed = folderOf(named('closed'), 0o700);
    const inner = folderOf(join(named('closed'), 'inner'));
    const args = [scriptIn(inner), named('inside')];
    const tool = { name: 'inside', command: '/usr/bin/python3', args, keepAlive: true };
    const { status, body } = await tk.http.post('/api/v1/custom-tools').send(tool);
    if (hasUsers()) {
      expect(status).toBe(400);
      expect(body.errors[0]).toMatchObject({
        pointer: '/command',
        detail: expect.stringMatching(new RegExp(`^${closed} is closed to user .*chmod o\\+x ${closed}$`)),
      });
      chmodSync(closed, 0o711);
      await registered('inside', { args });
    }
    const uid = hasUsers() ? firstUid + (await rowOf('inside')) : gateway;
    expect((await run('inside', whoIs)).R[0]).toBe(uid);
  });

  it('a granted path must be open to it, or belong to it', async () => {
    const granted = folderOf(named('granted'));
    await registered('granted');
    const uid = (await shown('granted')).runsAs.uid;
    const changes = { sandbox: { allowedPaths: [granted] }, permissions: { canWriteFiles: true } };
    const patch = () => tk.http.patch('/api/v1/custom-tools/granted').send(changes);
    if (hasUsers()) {
      const why = `${granted} may not be written by user ${uid}, which the tool runs as; to allow it: chmod o+rwx ${granted}`;
      expect((await patch().expect(422)).body.errors).toEqual([
        { pointer: '/sandbox/allowedPaths/0', detail: why },
      ]);
      chownSync(granted, uid, uid);
      chmodSync(granted, 0o700);
    }
    await patch().expect(200);
    const write = `open("${granted}/made", "w").write("x"); R = os.getuid()`;
    expect(await run('granted', write)).toEqual({ R: uid });
  });

  it('keeps its user when it is changed; one of the same name that comes later has another', async () => {
    const { runsAs } = await registered('again');
    await tk.http.patch('/api/v1/custom-tools/again').send({ description: 'changed' }).expect(200);
    await tk.http.post('/api/v1/custom-tools/again/disable').expect(200);
    await tk.http.post('/api/v1/custom-tools/again/enable').expect(200);
    expect((await shown('again')).runsAs).toEqual(runsAs);
    await tk.http.delete('/api/v1/custom-tools/again').expect(204);
    const later = (await registered('again')).runsAs.uid;
    expect(later === runsAs.uid).toBe(!hasUsers());
  });

  it('has no number that another tool has, when all have been given once', async () => {
    const taken = [await rowOf('first'), await rowOf('second')];
    await tk.db.dataSource.query("SELECT setval('custom_tool_users', $1, false)", [taken[0]]);
    await registered('after_all');
    expect(taken).not.toContain(await rowOf('after_all'));
  });

  it('reaches its hosts through the proxy', async () => {
    const hosts = [`127.0.0.1:${(http.address() as AddressInfo).port}`];
    if (tier < 2) {
      const sandbox = { allowedHosts: hosts };
      const refused = { name: 'fetching', command: '/usr/bin/python3', args: [script], sandbox };
      await tk.http
        .post('/api/v1/custom-tools')
        .send(refused)
        .expect(400, /allowedHosts/);
      return;
    }
    await registered('fetching', { sandbox: { allowedHosts: hosts } });
    const fetch = `import urllib.request as u; R = u.urlopen("http://${hosts[0]}/").read().decode()`;
    expect(await run('fetching', fetch)).toEqual({ R: 'hi' });
  });
});

it('after a gateway was killed, the next one removes what it left behind, nothing else, and gives each tool its user', async () => {
  const db = await createTestDatabase();
  const settings = {
    DATABASE_URL: db.url,
    SANDBOX_MAX_TIER: '1',
    TOOLKEEPER_DATA_DIR: folderOf('data', 0o700),
  };
  const ask = async (path: string): Promise<Json> =>
    (await fetch(`${killed.url}/${path}`, { headers: killed.key })).json();
  const usersIn = ({ data }: Json): Json[] =>
    data.map(({ name, effectiveSandbox }: Json) => [name, effectiveSandbox.runsAs]);
  const foldersOf = (maker: string): string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith(`toolkeeper-private-${maker}-`));

  const killed = await startServer(settings);
  const maker = identityOf(killed.child.pid ?? 0) ?? '';
  const tools = await ask('api/v1/custom-tools');
  const users = usersIn(tools);
  await killed.end('SIGKILL');
  expect(foldersOf(maker).length > 0).toBe(tools.data[0].effectiveSandbox.tier > 0);
  const living = join(tmpdir(), `toolkeeper-private-${identityOf(process.pid)}-living`);
  const strangers = join(tmpdir(), `toolkeeper-private-${maker}-strangers`);
  for (const path of [living, strangers]) mkdirSync(path);
  if (gateway === 0) chownSync(strangers, 12_345, 12_345);
  const next = await startApp({ DATABASE_URL: db.url, SANDBOX_MAX_TIER: '1' });
  try {
    expect(existsSync(living)).toBe(true);
    expect(foldersOf(maker)).toEqual(gateway === 0 ? [`toolkeeper-private-${maker}-strangers`] : []);
    expect(usersIn((await next.http.get('/api/v1/custom-tools').expect(200)).body)).toEqual(users);
  } finally {
    await next.close();
    for (const path of [living, strangers]) rmSync(path, { recursive: true, force: true });
    await db.release();
  }
});
