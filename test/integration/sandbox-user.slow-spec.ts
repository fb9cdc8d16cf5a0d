import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { upToTier } from '../../src/runtime/sandbox/enforcement.js';
import { probeHost } from '../../src/runtime/sandbox/host-probe.js';
import { Sandbox } from '../../src/runtime/sandbox/sandbox.js';
import type { HostAbilities, SandboxField } from '../../src/runtime/sandbox/sandbox.types.js';
import { makeTestFolder } from '../support/test-folder.js';
import type { Json } from '../support/json.js';

// real: the sandbox's command lines, started as an ordinary user; mock: nothing. As somebody else than root the suite
// runs as an ordinary user anyway.

const nobody = 65_534;
const asRoot = process.getuid?.() === 0;
const root = join(__dirname, '../..');
const folder = makeTestFolder();
const tool = join(folder, 'tool', 'hostile.py');
const launcher = join(folder, 'launcher');
let abilities: HostAbilities;
let server: Server;

beforeAll(async () => {
  // The project may lie where an ordinary user cannot read it.
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'tool'), { mode: 0o755 });
  copyFileSync(join(root, 'test/fixtures/hostile/hostile.py'), tool);
  const built = join(root, 'native/bin', `launcher-${process.arch}`);
  if (existsSync(built)) copyFileSync(built, launcher);
  if (existsSync(launcher)) chmodSync(launcher, 0o755);
  mkdirSync(join(folder, 'open'));
  chmodSync(join(folder, 'open'), 0o777);
  writeFileSync(join(folder, 'secret'), 'a secret', { mode: 0o644 });
  const found = await probeHost({
    path: '/usr/bin:/bin:/usr/local/bin',
    launcher,
    cgroup: 'off',
    firstUid: 70_000,
  });
  // What the probe finds as root is the exemption of the real root.
  abilities = { ...found, countsProcesses: found.launcher !== undefined };
  server = createServer((socket) => socket.on('error', () => undefined).end('hello')).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the tool in a tier as an ordinary user and lets it try; `at`: with all that belongs to it. */
async function attempt(
  tier: 0 | 1 | 2,
  input: object,
  at = folder,
): Promise<{ done: boolean; tier: number; enforced: readonly SandboxField[] }> {
  const sandbox = new Sandbox({
    enabled: true,
    mode: 'best-effort',
    defaults: { memoryMB: 512, processes: 64, temporaryMB: 64 },
    abilities: upToTier(
      { ...abilities, ...(abilities.launcher && { launcher: join(at, 'launcher') }) },
      tier,
    ),
    uid: asRoot ? nobody : (process.getuid?.() ?? 0),
    secrets: [],
    readOnly: [],
    grantable: [],
  });
  const own = join(at, 'tool');
  const start = {
    command: '/usr/bin/python3',
    args: [join(own, 'hostile.py')],
    cwd: own,
    env: { PATH: '/usr/bin:/bin', TMPDIR: join(folder, 'open') },
  };
  const confined = await sandbox.confine({}, start, own);
  const { command, effective } = confined;
  if (tier === 1) chmodSync(command.env['TMPDIR'] ?? '', 0o777);
  const child = spawn(command.command, command.args, {
    cwd: command.cwd,
    env: command.env,
    stdio: ['pipe', 'pipe', 'ignore'],
    ...(asRoot && { uid: nobody, gid: nobody }),
  });
  const unwatch = command.watch?.(child.pid ?? 0, () => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout);
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify({ id: '1', method: 'execute', params: { input } })}\n`);
  const answer = await Promise.race([once(lines, 'line'), ended.then(() => undefined)]);
  child.stdin.end();
  await ended;
  unwatch?.();
  await confined.dispose();
  const reply: Json = answer && JSON.parse(String(answer[0]));
  // bubblewrap by itself forbids further namespaces.
  const enforced =
    effective.tier === 2 ? [...effective.enforced, 'systemCalls' as const] : effective.enforced;
  return { done: reply?.result.done === true, tier: effective.tier, enforced };
}

const acts: readonly (readonly [SandboxField, string, () => object])[] = [
  ['allowedPaths', 'reads', () => ({ act: 'read', path: join(folder, 'secret') })],
  ['canWriteFiles', 'writes', () => ({ act: 'write', path: join(folder, 'open', 'written') })],
  [
    'allowNetwork',
    'connects',
    () => ({ act: 'tcp', host: '127.0.0.1', port: (server.address() as AddressInfo).port }),
  ],
  ['processes', 'forks 200 times', () => ({ act: 'forks', count: 200 })],
  ['maxMemoryMB', 'takes 1 GB', () => ({ act: 'allocate', bytes: 1_073_741_824 })],
  ['temporaryDirectory', 'fills the disk', () => ({ act: 'fill', bytes: 80 * 1_048_576 })],
  ['writableNotExecutable', 'runs what it wrote', () => ({ act: 'written' })],
  ['systemCalls', 'makes a user namespace', () => ({ act: 'namespace' })],
];

describe.each([0, 1, 2] as const)('an ordinary user, tier %i at most', (tier) => {
  it.each(acts)('%s: a tool that %s', async (field, _what, input) => {
    const { done, enforced } = await attempt(tier, input());
    expect(done).toBe(!enforced.includes(field));
  });

  it('a tool that changes the mode of its own file: only where mounts keep those of others', async () => {
    const { done, tier: reached } = await attempt(tier, { act: 'own_mode' });
    expect(done).toBe(reached !== 1);
  });

  it('a tool and a launcher in a folder that is closed to all others', async () => {
    const home = join(folder, `closed-${tier}`);
    const clone = join(home, 'clone');
    mkdirSync(join(clone, 'tool'), { recursive: true });
    const script = join(clone, 'tool', 'hostile.py');
    copyFileSync(tool, script);
    if (existsSync(launcher)) copyFileSync(launcher, join(clone, 'launcher'));
    if (asRoot)
      for (const path of [home, clone, join(clone, 'tool'), script]) chownSync(path, nobody, nobody);
    chmodSync(home, 0o700);
    expect(await attempt(tier, { act: 'read', path: script }, clone)).toMatchObject({ done: true });
  });
});
