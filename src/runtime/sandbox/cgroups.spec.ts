import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CgroupLeaves, findCgroups, limitFiles, newLeafPrefix, removeDeadLeaves } from './cgroups.js';

// real: the groups of this host where it lets us make some, plain directories for what is only written; mock: nothing

it.each([
  ['memory', 2, 1_024, ['memory.max', '1024']],
  ['memory', 1, 1_024, ['memory.limit_in_bytes', '1024']],
  ['pids', 1, 64, ['pids.max', '64']],
  ['cpu', 2, 50, ['cpu.max', '50000 100000']],
  ['cpu', 1, 150, ['cpu.cfs_quota_us', '150000']],
] as const)('%s, version %i: %i', (controller, version, value, file) => {
  expect(limitFiles(controller, version, value)).toContainEqual(file);
});

describe('the command of a leaf', () => {
  let base: string;
  beforeEach(() => (base = mkdtempSync(join(tmpdir(), "toolkeeper-it's a group-"))));
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  const start = async (leaves: CgroupLeaves): Promise<{ pid: number; code: number | null; out: string }> => {
    const [program = '', ...args] = [...leaves.command(), '/bin/echo', 'a tool', '$HOME'];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { pid: child.pid ?? 0, code, out };
  };

  it('sets the limits and enters the group before the tool runs', async () => {
    const bases = { memory: { version: 2, path: base }, pids: { version: 2, path: base } } as const;
    const leaves = new CgroupLeaves(bases, { memory: 1_024, pids: 5, cpu: 10 }, 'toolkeeper-test-1-');
    const { pid, code, out } = await start(leaves);
    expect([code, out]).toEqual([0, 'a tool $HOME\n']);
    const leaf = join(base, `toolkeeper-test-1-${pid}`);
    const written = Object.fromEntries(
      readdirSync(leaf).map((file) => [file, readFileSync(join(leaf, file), 'utf8').trim()]),
    );
    expect(written).toEqual({
      'memory.max': '1024',
      'memory.oom.group': '1',
      'pids.max': '5',
      'cgroup.procs': String(pid),
    });
  });

  it('runs nothing when a group cannot be made', async () => {
    const gone = { pids: { version: 2, path: join(base, 'gone') } } as const;
    expect(await start(new CgroupLeaves(gone, { pids: 5 }, 'toolkeeper-test-2-'))).toMatchObject({
      code: 125,
      out: '',
    });
  });

  it('is empty where there is nothing to limit', () => {
    expect(new CgroupLeaves({}, { pids: 5 }, 'toolkeeper-test-3-').command()).toEqual([]);
  });

  it('only empty groups of gateways that are gone are cleared away', () => {
    mkdirSync(join(base, 'toolkeeper-1-1-5'));
    mkdirSync(join(base, 'toolkeeper-older'));
    mkdirSync(join(base, 'others'));
    mkdirSync(join(base, 'toolkeeper-1-1-6', 'in-use'), { recursive: true });
    removeDeadLeaves({ pids: { version: 2, path: base } });
    expect(readdirSync(base).sort()).toEqual(['others', 'toolkeeper-1-1-6']);
  });

  it('and none of one that lives, where a process may be just about to enter it', () => {
    const leaves = [newLeafPrefix(), newLeafPrefix()].map((prefix) => `${prefix}1-5`);
    for (const leaf of leaves) mkdirSync(join(base, leaf));
    removeDeadLeaves({ pids: { version: 2, path: base } });
    expect(readdirSync(base).sort()).toEqual(leaves.sort());
  });
});

describe("this host's groups", () => {
  const { bases, missing } = findCgroups('auto');

  it('are found, or it is said why not', () => {
    if (Object.keys(bases).length < 3) expect(missing).toMatch(/\w+/);
    expect(findCgroups('off')).toEqual({ bases: {}, missing: 'SANDBOX_CGROUP=off' });
    expect(findCgroups('/there/is/no/such/group').bases).toEqual({});
  });

  it('hold what is started in them, until all of it is ended', async () => {
    const { pids } = bases;
    if (!pids) {
      process.stderr.write(`not tested here, a real pids group: ${missing}\n`);
      return;
    }
    const prefix = newLeafPrefix();
    const leaves = new CgroupLeaves({ pids }, { pids: 8 }, prefix);
    const [program = '', ...args] = [...leaves.command(), '/bin/sh', '-c', 'setsid sleep 60 & echo; wait'];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const leaf = join(pids.path, `${prefix}${child.pid}`);
    expect(readFileSync(join(leaf, 'pids.max'), 'utf8').trim()).toBe('8');
    expect(readFileSync(join(leaf, 'cgroup.procs'), 'utf8')).toContain(String(child.pid));
    const ended = once(child, 'exit');
    expect(await leaves.release(child.pid ?? 0)).toBe(true);
    await ended;
    expect(existsSync(leaf)).toBe(false);
  });
});
