import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import type { SandboxField } from '../../src/runtime/sandbox/sandbox.types.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { processesWith } from '../support/processes.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the server, its sandbox of every tier that this host has, the hostile tools, the sockets and files they go for;
// mock: nothing

const hostile = join(__dirname, '..', 'fixtures', 'hostile', 'hostile.py');
const python = '/usr/bin/python3';
const mark = `${process.pid}`;

/** What is within reach outside of every sandbox. */
interface Outside {
  readonly folder: string;
  readonly victim: ChildProcess;
  readonly tcp: Server;
  readonly http: Server;
  readonly udp: UdpSocket;
  readonly sockets: readonly Server[];
}

interface Act {
  readonly act: string;
  readonly what: string;
  /** The restriction that must stop it. */
  readonly field: SandboxField;
  readonly input: (outside: Outside) => Record<string, unknown>;
  readonly settings?: (outside: Outside) => Record<string, unknown>;
}

const portOf = (server: Server | UdpSocket): number => (server.address() as AddressInfo).port;
const pathOutside = (name: string) => (outside: Outside) => ({ path: join(outside.folder, name) });
const noCommands = () => ({ permissions: { canExecuteCommands: false } });
const loader = readdirSync('/lib64').find((name) => name.startsWith('ld-linux')) ?? '';

const acts: readonly Act[] = [
  { act: 'read', what: 'reads /etc/shadow', field: 'canReadFiles', input: () => ({ path: '/etc/shadow' }) },
  { act: 'read', what: 'reads a file outside', field: 'allowedPaths', input: pathOutside('secret') },
  {
    act: 'read',
    what: "reads the gateway's environment",
    field: 'otherProcesses',
    input: () => ({ path: `/proc/${process.pid}/environ` }),
  },
  {
    act: 'read',
    what: 'reads the admin key',
    field: 'dataDirectory',
    input: pathOutside('data/admin.key'),
  },
  { act: 'write', what: 'writes outside', field: 'canWriteFiles', input: pathOutside('written') },
  { act: 'chmod', what: 'changes a mode outside', field: 'canWriteFiles', input: pathOutside('secret') },
  {
    act: 'chmod_open',
    what: 'changes the mode of a file that it may read',
    field: 'canWriteFiles',
    input: () => ({ path: hostile }),
  },
  { act: 'symlink', what: 'follows its own link out', field: 'canReadFiles', input: pathOutside('secret') },
  {
    act: 'tcp',
    what: 'connects over TCP',
    field: 'allowNetwork',
    input: ({ tcp }) => ({ host: '127.0.0.1', port: portOf(tcp) }),
  },
  {
    act: 'udp',
    what: 'talks over UDP',
    field: 'canNetwork',
    input: ({ udp }) => ({ host: '127.0.0.1', port: portOf(udp) }),
  },
  {
    act: 'unix',
    what: 'connects to a unix socket',
    field: 'allowNetwork',
    input: pathOutside('outside.sock'),
  },
  {
    act: 'unix',
    what: 'connects to an abstract socket',
    field: 'allowNetwork',
    input: () => ({ path: `@toolkeeper-${process.pid}` }),
  },
  {
    act: 'unix',
    what: 'goes from its network to a unix socket',
    field: 'allowedPaths',
    input: pathOutside('outside.sock'),
    settings: () => ({ sandbox: { allowNetwork: true } }),
  },
  {
    act: 'get',
    what: 'fetches from a host that is not allowed',
    field: 'allowedHosts',
    input: ({ http }) => ({ url: `http://127.0.0.1:${portOf(http)}/` }),
    settings: () => ({ sandbox: { allowedHosts: ['127.0.0.1:1'] } }),
  },
  {
    act: 'tcp',
    what: 'goes past the proxy',
    field: 'allowedHosts',
    input: ({ tcp }) => ({ host: '127.0.0.1', port: portOf(tcp) }),
    settings: ({ tcp }) => ({ sandbox: { allowedHosts: [`127.0.0.1:${portOf(tcp)}`] } }),
  },
  {
    act: 'ptrace',
    what: 'traces a process outside',
    field: 'otherProcesses',
    input: ({ victim }) => ({ pid: victim.pid }),
  },
  {
    act: 'kill',
    what: 'signals the gateway',
    field: 'otherProcesses',
    input: () => ({ pid: process.pid }),
  },
  {
    act: 'listening',
    what: 'reads of the sockets of the host',
    field: 'otherProcesses',
    input: ({ tcp }) => ({ port: portOf(tcp) }),
  },
  { act: 'mounts', what: 'reads of the mounts of the host', field: 'otherProcesses', input: () => ({}) },
  { act: 'forks', what: 'forks 200 times', field: 'processes', input: () => ({ count: 200 }) },
  { act: 'allocate', what: 'takes 1 GB', field: 'maxMemoryMB', input: () => ({ bytes: 1_073_741_824 }) },
  {
    act: 'share',
    what: 'takes 1 GB that it could share',
    field: 'maxMemoryMB',
    input: () => ({ bytes: 1_073_741_824 }),
  },
  {
    act: 'spin',
    what: 'spins',
    field: 'maxCpuPercent',
    input: () => ({ windows: 10 }),
    settings: () => ({ sandbox: { maxCpuPercent: 5 } }),
  },
  {
    act: 'fill',
    what: 'fills the disk',
    field: 'temporaryDirectory',
    input: () => ({ bytes: 80 * 1_048_576 }),
  },
  {
    act: 'run',
    what: 'runs /usr/bin/id',
    field: 'canExecuteCommands',
    input: () => ({ command: ['/usr/bin/id'] }),
    settings: noCommands,
  },
  {
    act: 'run',
    what: 'runs /usr/bin/id through ld.so',
    field: 'canExecuteCommands',
    input: () => ({ command: [`/lib64/${loader}`, '/usr/bin/id'] }),
    settings: noCommands,
  },
  { act: 'written', what: 'runs what it wrote', field: 'writableNotExecutable', input: () => ({}) },
  { act: 'namespace', what: 'makes a user namespace', field: 'systemCalls', input: () => ({}) },
  {
    act: 'segment',
    what: 'takes memory that outlives it',
    field: 'systemCalls',
    input: () => ({ bytes: 4096 }),
  },
  {
    act: 'lease',
    what: 'lets others wait for a file',
    field: 'systemCalls',
    input: pathOutside('secret'),
    settings: ({ folder }) => ({ sandbox: { allowedPaths: [join(folder, 'secret')] } }),
  },
];

interface Language {
  readonly language: string;
  /** Whats of the acts above. */
  readonly acts: readonly string[];
  /** Absent: its compiler is. */
  readonly prepare: (outside: Outside) => { command: string; args: string[] } | undefined;
}

const files = [
  'reads /etc/shadow',
  'reads a file outside',
  'writes outside',
  'connects over TCP',
  'signals the gateway',
];
const script = (command: string, file: string) => () => ({ command, args: [join(hostile, '..', file)] });
const languages: readonly Language[] = [
  {
    language: 'node',
    acts: [...files, 'takes 1 GB', 'runs /usr/bin/id'],
    prepare: script('node', 'hostile.mjs'),
  },
  { language: 'bash', acts: [...files, 'runs /usr/bin/id'], prepare: script('/bin/bash', 'hostile.sh') },
  {
    language: 'c',
    acts: [...files, 'traces a process outside', 'makes a user namespace'],
    prepare: ({ folder }) => {
      const program = join(folder, 'c', 'hostile');
      mkdirSync(join(folder, 'c'), { recursive: true });
      const { status } = spawnSync('gcc', ['-O1', '-o', program, join(hostile, '..', 'hostile.c')]);
      return status === 0 ? { command: program, args: [] } : undefined;
    },
  },
];

const asRoot = process.getuid?.() === 0;
/** A server that is root starts a tool as a user of its own, with or without a sandbox: this alone stops these acts. */
const stoppedByUser = new Set([
  'reads /etc/shadow',
  "reads the gateway's environment",
  'reads the admin key',
  'changes a mode outside',
  'changes the mode of a file that it may read',
  'traces a process outside',
  'signals the gateway',
  'lets others wait for a file',
]);

/** bubblewrap by itself forbids further namespaces; the other dangerous system calls need the launcher. */
function isStopped({ act, what, field }: Act, { enforced, tier }: Json): boolean {
  if (asRoot && stoppedByUser.has(what)) return true;
  return enforced.includes(field) || (act === 'namespace' && tier >= 2);
}

/** A file that a tool writes may stand in its private directory under the same name: what counts is what is outside. */
function wasDone(act: string, body: Json, { folder }: Outside): boolean {
  if (act !== 'write') return body.result?.done === true;
  const written = existsSync(join(folder, 'written'));
  rmSync(join(folder, 'written'), { force: true });
  return written;
}

const greet = (socket: { end(text: string): void; on(event: 'error', on: () => void): void }): void => {
  socket.on('error', () => undefined);
  socket.end('hello');
};

async function listen(server: Server, where: string | number): Promise<Server> {
  if (typeof where === 'number') server.listen(where, '127.0.0.1');
  else server.listen(where);
  await once(server, 'listening');
  return server;
}

async function setUp(): Promise<Outside> {
  const folder = makeTestFolder();
  writeFileSync(join(folder, 'secret'), 'a secret');
  const victim = spawn('sleep', ['600'], { stdio: 'ignore' });
  const udp = createSocket('udp4');
  udp.on('message', (_message, { port, address }) => udp.send('hello', port, address)).bind(0, '127.0.0.1');
  await once(udp, 'listening');
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi';
  const http = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(answer));
  });
  return {
    folder,
    victim,
    udp,
    tcp: await listen(createServer(greet), 0),
    http: await listen(http, 0),
    sockets: [
      await listen(createServer(greet), join(folder, 'outside.sock')),
      await listen(createServer(greet), `\0toolkeeper-${process.pid}`),
    ],
  };
}

let outside: Outside;
beforeAll(async () => {
  outside = await setUp();
});
afterAll(() => {
  outside.victim.kill('SIGKILL');
  outside.udp.close();
  for (const server of [outside.tcp, outside.http, ...outside.sockets]) server.close();
  rmSync(outside.folder, { recursive: true, force: true });
});

/**
 * Without bubblewrap a host has no more than tier 1. Here the best tier of the host is tried; sandbox.nightly-spec.ts, which
 * imports this file, tries all.
 */
const everyTier = /nightly/.test(expect.getState().testPath ?? '');
const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0;
const tiers = [0, 1, 2, 3].filter(
  (tier) => (hasBubblewrap || tier < 2) && (everyTier || tier === (hasBubblewrap ? 3 : 1)),
);

describe.each(tiers)('with tier %i at most', (maxTier) => {
  let tk: TestApp;
  const untested: string[] = [];

  beforeAll(async () => {
    tk = await startApp({
      SANDBOX_MAX_TIER: String(maxTier),
      SANDBOX: 'best-effort',
      TOOLKEEPER_DATA_DIR: join(outside.folder, 'data'),
      PATH: `/usr/bin:${process.env['PATH']}`,
    });
  });
  afterAll(async () => {
    await tk.close();
    if (untested.length > 0) process.stderr.write(`tier ${maxTier} of this host: ${untested.join('; ')}\n`);
  });

  const registered = async (name: string, settings: Record<string, unknown> = {}): Promise<Json> => {
    await tk.register(name, {
      command: python,
      args: [hostile],
      keepAlive: true,
      timeoutMs: 60_000,
      ...settings,
    });
    return (await tk.http.get(`/api/v1/custom-tools/${name}`).expect(200)).body.effectiveSandbox;
  };

  it('shows the tier that the host has', async () => {
    const { tier, notEnforced, notes } = await registered('shown');
    expect(tier).toBeLessThanOrEqual(maxTier);
    if (tier < maxTier) untested.push(`it reaches tier ${tier} only: ${JSON.stringify(notes)}`);
    for (const field of notEnforced) expect(notes[field]).toEqual(expect.any(String));
  });

  it.each(acts.map((act, n) => ({ ...act, n })))('a tool that $what: $field', async (act) => {
    const name = `act_${act.n}`;
    const shown = await registered(name, act.settings?.(outside));
    expect([...shown.enforced, ...shown.notEnforced]).toContain(act.field);
    const { body } = await tk.call(name, { act: act.act, ...act.input(outside) }).expect(200);
    const done = wasDone(act.act, body, outside);
    expect({ done, body }).toMatchObject({ done: !isStopped(act, shown) });
    if (maxTier === 0) expect(done).toBe(!(asRoot && stoppedByUser.has(act.what)));
  });

  it('a device of the host keeps its mode', async () => {
    await registered('device');
    const { body } = await tk.call('device', { act: 'chmod_open', path: '/dev/null' }).expect(200);
    expect({ body }).toMatchObject({ body: { result: { done: false } } });
  });

  it('where memory runs out the kernel ends a tool first', async () => {
    const name = `first_${mark}_${maxTier}`;
    await registered('first', { args: [hostile, name] });
    await tk.call('first', { act: 'read', path: hostile }).expect(200);
    const pids = processesWith(name);
    expect(pids).not.toEqual([]);
    for (const pid of pids) expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8')).toBe('1000\n');
    expect(readFileSync('/proc/self/oom_score_adj', 'utf8')).not.toBe('1000\n');
  });

  it('a tool that is ended by its sandbox says for what', async () => {
    if (process.arch !== 'x64') return void untested.push('no other architecture to call as');
    const { tier, enforced } = await registered('ended');
    const { body } = await tk.call('ended', { act: 'other_architecture' }).expect(200);
    if (!enforced.includes('systemCalls')) return expect(body).toMatchObject({ result: { done: true } });
    expect(tier).toBeGreaterThan(0);
    expect(body.error).toMatchObject({
      type: 'sandbox_violation',
      code: -32603,
      message: expect.stringContaining('a system call of another architecture'),
    });
  });

  it.each(languages)(
    '$language: stopped from what it may not',
    async ({ language, acts: names, prepare }) => {
      const start = prepare(outside);
      if (start === undefined) {
        untested.push(`no ${language} here`);
        return;
      }
      const plain = `plain_${language}`;
      const strict = `strict_${language}`;
      const shown = await registered(plain, start);
      const shownStrict = await registered(strict, { ...start, ...noCommands() });
      for (const each of acts.filter(({ what }) => names.includes(what))) {
        const { act, input, settings } = each;
        const { body } = await tk
          .call(settings === noCommands ? strict : plain, { act, ...input(outside) })
          .expect(200);
        const holds = isStopped(each, settings === noCommands ? shownStrict : shown);
        expect({ act, done: wasDone(act, body, outside) }).toEqual({ act, done: !holds });
      }
    },
  );

  it('what a tool sets for itself reaches no program that puts it into its sandbox', async () => {
    const traces = join(outside.folder, `traces-${maxTier}`);
    const bin = join(traces, 'bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'mkdir'), `#!/bin/sh\n: >${traces}/of-mkdir\nexec /bin/mkdir "$@"\n`, {
      mode: 0o755,
    });
    // Every program that is linked when it starts writes such a file, if it may.
    const loading = { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(traces, 'of-the-loader') };
    const { tier } = await registered('preloading', { env: { ...loading, PATH: `${bin}:/usr/bin:/bin` } });
    const left = readdirSync(traces).filter((name) => name.startsWith('of-'));
    if (tier === 0) expect(left).not.toEqual([]);
    else expect(left).toEqual([]);
  });

  it('a tool whose grandchild has a session of its own: grandchildren', async () => {
    const [parent, child] = [`parent_${mark}_${maxTier}`, `child_${mark}_${maxTier}`];
    const { enforced } = await registered('lingering', { args: [hostile, parent] });
    const { body } = await tk.call('lingering', { act: 'linger', name: child, seconds: 30 }).expect(200);
    if (body.result.done === true) expect(processesWith(child)).not.toEqual([]);
    await tk.http.delete('/api/v1/custom-tools/lingering').expect(204);
    await until(() => processesWith(parent).length === 0, { what: 'the end of the tool' });
    if (enforced.includes('grandchildren')) {
      await until(() => processesWith(child).length === 0, { what: 'the end of the grandchild' });
    } else {
      const left = processesWith(child);
      expect(left).not.toEqual([]);
      for (const pid of left) process.kill(pid, 'SIGKILL');
    }
  });
});

it('what is demanded and cannot be enforced is refused with the field and the reason', async () => {
  const tk = await startApp({ SANDBOX_MAX_TIER: '0' });
  try {
    const refused = async (settings: object): Promise<Json> =>
      (
        await tk.http
          .post('/api/v1/custom-tools')
          .send({ name: 'demanding', command: python, args: [hostile], ...settings })
          .expect(400)
      ).body.errors;
    expect(await refused({ sandbox: { maxMemoryMB: 64 } })).toEqual([
      { pointer: '/sandbox/maxMemoryMB', detail: expect.stringContaining('SANDBOX_MAX_TIER=0') },
    ]);
    expect(await refused({ permissions: { canNetwork: false } })).toEqual([
      { pointer: '/permissions/canNetwork', detail: expect.stringContaining('cannot be enforced') },
    ]);
    await tk.register('modest', { command: python, args: [hostile], sandbox: { maxExecutionMs: 5_000 } });
    const { body } = await tk.http.get('/api/v1/custom-tools/modest').expect(200);
    expect(body.effectiveSandbox).toMatchObject({
      tier: 0,
      enforced: ['maxExecutionMs', 'allowedEnvironmentVars', 'grandchildren'],
      notes: { dataDirectory: expect.stringContaining('the admin key') },
    });
    expect((await tk.http.get('/readyz').expect(200)).body.details.sandbox).toMatchObject({
      tier: 0,
      message: 'tools run without a sandbox',
    });
  } finally {
    await tk.close();
  }
});

it('a sandbox that is off refuses nothing, and readiness says so', async () => {
  const tk = await startApp({ SANDBOX: 'off' });
  try {
    await tk.register('free', { command: python, args: [hostile], sandbox: { maxMemoryMB: 64 } });
    const { body } = await tk.http.get('/api/v1/custom-tools/free').expect(200);
    expect(body.effectiveSandbox.notEnforced).toContain('maxMemoryMB');
    const { details } = (await tk.http.get('/readyz').expect(200)).body;
    expect(details.sandbox).toMatchObject({ enabled: false, message: 'tools run without a sandbox' });
  } finally {
    await tk.close();
  }
});

it.each([
  ['/sandbox/allowedPaths/0', { sandbox: { allowedPaths: ['/no/such/path'] } }, 422],
  ['/sandbox/allowedHosts', { sandbox: { allowedHosts: ['http://a/b'] } }, 400],
])('a wrong %s is refused', async (pointer, settings, status) => {
  const tk = await startApp();
  try {
    const { body } = await tk.http
      .post('/api/v1/custom-tools')
      .send({ name: 'wrong', command: python, args: [hostile], ...settings })
      .expect(status);
    expect(body.errors[0].pointer).toBe(pointer);
  } finally {
    await tk.close();
  }
});

it('a tool reaches the host that it may reach, and the path that it may read and write', async () => {
  const tk = await startApp({ SANDBOX: 'best-effort' });
  try {
    await tk.register('trusted', {
      command: python,
      args: [hostile],
      sandbox: {
        allowedPaths: [outside.folder],
        allowedHosts: [`127.0.0.1:${portOf(outside.http)}`, new URL(tk.url).host],
      },
      permissions: { canWriteFiles: true, canExecuteCommands: false },
    });
    const url = `http://127.0.0.1:${portOf(outside.http)}/`;
    for (const input of [
      { act: 'get', url },
      { act: 'read', path: join(outside.folder, 'secret') },
      { act: 'write', path: join(outside.folder, 'allowed') },
    ]) {
      const { body } = await tk.call('trusted', input).expect(200);
      expect(body).toMatchObject({ status: 'success', result: { done: true } });
    }
    // The gateway's own address is never among them, if they are enforced.
    const { enforced } = (await tk.http.get('/api/v1/custom-tools/trusted').expect(200)).body
      .effectiveSandbox;
    const { body } = await tk.call('trusted', { act: 'get', url: `${tk.url}/livez` }).expect(200);
    expect(body.result?.done === true).toBe(!enforced.includes('allowedHosts'));
  } finally {
    await tk.close();
  }
});
