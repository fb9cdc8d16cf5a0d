import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processesWith } from '../support/processes.js';
import { until } from '../support/wait.js';
import type { ProcessSpec } from '../../src/runtime/process-pool/pool.types.js';
import { commandLineOf } from '../../src/base/common/process-identity.js';
import {
  findSpawner,
  SpawnerClient,
  type SpawnerEvent,
} from '../../src/runtime/process-pool/spawner-client.js';
import {
  type LaunchedProcess,
  type Launcher,
  launch,
  type OutputStream,
} from '../../src/runtime/process-pool/launcher.js';
import type { SpawnerOptions } from '../../src/runtime/process-pool/spawner.js';

const binary = findSpawner(process.cwd()) ?? 'native/bin has no spawner for this platform';
const path = process.env.PATH ?? '';

let client: SpawnerClient;
let folder: string;
let died: SpawnerEvent[];
/** An argument of `sleep` that only this test's processes have. */
let nap: string;

const makeClient = (options: Partial<SpawnerOptions> = {}): SpawnerClient => {
  const made = new SpawnerClient({ binary, ...options });
  made.events.subscribe((event) => died.push(event));
  return made;
};

beforeEach(() => {
  died = [];
  folder = mkdtempSync(join(tmpdir(), 'spawner-'));
  nap = `${randomInt(100_000, 1_000_000)}.${randomInt(1_000_000)}`;
  client = makeClient();
});
afterEach(async () => {
  await client.close();
  rmSync(folder, { recursive: true });
  await until(() => napping().length === 0, { what: `the end of ${napping().join(', ')}` });
});

/** Not the shells that have it in their script. */
const napping = () =>
  processesWith(nap).filter(
    (pid) => commandLineOf(pid).filter(Boolean).slice(-2).join(' ') === `sleep ${nap}`,
  );
const shell = (script: string, rest: Partial<ProcessSpec> = {}): ProcessSpec => ({
  command: '/bin/bash',
  args: ['-c', script.replaceAll('NAP', `sleep ${nap}`)],
  cwd: folder,
  env: { PATH: path },
  ...rest,
});

/** Resolves with the exit, rejects with the error. */
const endOf = (child: LaunchedProcess) =>
  new Promise<readonly [number | null, string | null]>((resolve, reject) => {
    child.on('exit', (code, signal) => resolve([code, signal])).on('error', reject);
  });

const running = async (spec: ProcessSpec): Promise<LaunchedProcess> => {
  const child = client.launch(spec);
  await once(child as never, 'spawn');
  return child;
};

const textOf = (output: OutputStream): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    output.on('data', (chunk: Buffer) => (text += chunk.toString()));
    output.on('end', () => resolve(text));
  });

/** Runs to the end. @returns what it wrote to stdout and stderr, and how it ended */
async function run(spec: ProcessSpec, input = '', through: Launcher = client.launch) {
  const child = through(spec);
  const end = endOf(child);
  await Promise.race([once(child as never, 'spawn'), end]);
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return { stdout: await stdout, stderr: await stderr, end: await end };
}

const descriptors = (pid: number | undefined) => readdirSync(`/proc/${pid}/fd`).length;
const spawnerPid = () => client.stats().pid ?? NaN;
const gone = (pids: number[]) =>
  until(() => pids.every((pid) => !readdirSync('/proc').includes(String(pid))), {
    what: 'the end of processes',
  });

const statOf = (pid: number) =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
const parentOf = (pid: number) => {
  try {
    return Number(statOf(pid)[1]);
  } catch {
    return undefined;
  }
};
const childrenOf = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');

describe('a process', () => {
  it('gets its input, arguments, directory and environment, and nothing else', async () => {
    const spec = shell('pwd; env -u PWD -u SHLVL -u _ | sort; echo "$1"; cat', {
      env: { PATH: path, ONE: 'é 1' },
    });
    const { stdout, end } = await run({ ...spec, args: [...spec.args, 'zero', 'two  words'] }, 'input');
    expect(stdout.split('\n')).toEqual([folder, 'ONE=é 1', `PATH=${path}`, 'two  words', 'input']);
    expect(end).toEqual([0, null]);
  });

  it('has three descriptors, ignores and blocks no signal, and leads a session and a group of its own', async () => {
    const { stdout } = await run(
      shell('ls /proc/self/fd | wc -l; exec grep -hE "^Sig(Blk|Ign)" /proc/self/status'),
    );
    const [count, blocked, ignoring] = stdout.trim().split('\n');
    const child = await running(shell('exec cat'));
    const [, , group, session] = statOf(child.pid ?? NaN).map(Number);
    child.kill('SIGKILL');
    // The fourth is the folder that ls reads.
    expect(count).toBe('4');
    expect([blocked, ignoring]).toEqual(['SigBlk:\t0000000000000000', 'SigIgn:\t0000000000000000']);
    expect([group, session]).toEqual([child.pid, child.pid]);
  });

  it('has real pipes: /dev/stdin, /dev/stdout and /dev/stderr can be opened', async () => {
    const { stdout, stderr } = await run(
      shell('cat /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr'),
      'in\n',
    );
    expect([stdout, stderr]).toEqual(['in\nout\n', 'err\n']);
  });

  it('sees the end of its input', async () => {
    const child = await running(shell('cat > /dev/null; exit 5'));
    const end = endOf(child);
    child.stdin.end();
    expect(await end).toEqual([5, null]);
  });

  it.each<[string, string, readonly [number | null, string | null]]>([
    ['code', 'exit 37', [37, null]],
    ['signal', 'kill -SEGV $$', [null, 'SIGSEGV']],
  ])('ends with its %s', async (_how, script, end) => {
    expect((await run(shell(script))).end).toEqual(end);
  });

  it('passes megabytes both ways', async () => {
    const { stdout, end } = await run(shell('cat'), 'x'.repeat(3_000_000));
    expect(stdout).toHaveLength(3_000_000);
    expect(end).toEqual([0, null]);
  });

  it('is found on the PATH of its own environment, and may be a script without a first line', async () => {
    writeFileSync(join(folder, 'my-tool'), 'echo "mine $1"\n', { mode: 0o755 });
    const spec = { command: 'my-tool', args: ['a'], cwd: '/', env: { PATH: `/nowhere:${folder}:${path}` } };
    expect((await run(spec)).stdout).toBe('mine a\n');
  });

  it('is signalled with its whole group', async () => {
    const child = await running(shell('NAP & NAP'));
    const end = endOf(child);
    await until(() => napping().length === 2, { what: 'both' });
    child.kill('SIGTERM');
    expect(await end).toEqual([null, 'SIGTERM']);
    await until(() => napping().length === 0, { what: 'the end of both' });
    child.kill('SIGKILL');
  });
});

describe('a process that cannot be started', () => {
  const file = (name: string, mode: number) => {
    writeFileSync(join(folder, name), '#!/no/such/interpreter\n');
    chmodSync(join(folder, name), mode);
    return join(folder, name);
  };
  it.each<[string, () => Partial<ProcessSpec>, string]>([
    ['a missing file', () => ({ command: '/no/such' }), 'ENOENT'],
    ['a name that PATH does not know', () => ({ command: 'no-such-tool' }), 'ENOENT'],
    ['a missing interpreter', () => ({ command: file('a', 0o755) }), 'ENOENT'],
    ['a file that may not be executed', () => ({ command: file('b', 0o644) }), 'EACCES'],
    ['a folder', () => ({ command: folder }), 'EACCES'],
    ['a path through a file', () => ({ command: join(file('c', 0o755), 'x') }), 'ENOTDIR'],
    ['a missing directory', () => ({ cwd: '/no/such' }), 'ENOENT'],
    ['a file as directory', () => ({ cwd: file('d', 0o755) }), 'ENOTDIR'],
    ['too long an argument', () => ({ args: ['x'.repeat(200_000)] }), 'E2BIG'],
  ])('says so as when started directly: %s', async (_what, part, code) => {
    const spec = { ...shell('true'), ...part() };
    const errors = await Promise.all([client.launch, launch].map((each) => refusal(each, spec)));
    expect(errors[0]).toMatchObject({ code, syscall: `spawn ${spec.command}` });
    expect(errors[0]).toMatchObject({ code: errors[1]?.code, errno: errors[1]?.errno });
    expect(client.stats()).toMatchObject({ waiting: 0, running: 0 });
  });

  /** Node throws some of them, the spawner says them. */
  async function refusal(through: Launcher, spec: ProcessSpec): Promise<NodeJS.ErrnoException | undefined> {
    try {
      await endOf(through(spec));
      return undefined;
    } catch (error) {
      return error as NodeJS.ErrnoException;
    }
  }

  it('is refused at once for a NUL', () => {
    expect(() => client.launch(shell('a\0b'))).toThrow(TypeError);
    expect(client.stats()).toMatchObject({ waiting: 0 });
  });
});

describe('many at a time', () => {
  it('are all started', async () => {
    const runs = Array.from({ length: 100 }, (_, n) => run(shell(`read line; echo ${n} $line`), 'hello\n'));
    const outputs = (await Promise.all(runs)).map(({ stdout }) => stdout);
    expect(outputs).toEqual(outputs.map((_, n) => `${n} hello\n`));
    expect(client.stats()).toMatchObject({ waiting: 0, running: 0, restarts: 0 });
  });

  it('leave no descriptor open here or at the spawner', async () => {
    const round = () => Promise.all(Array.from({ length: 50 }, () => run(shell('cat'), 'x')));
    await round();
    const before = { ours: descriptors(process.pid), spawners: descriptors(spawnerPid()) };
    for (let n = 0; n < 3; n++) await round();
    await Promise.all([run(shell('true', { cwd: '/no/such' })).catch(() => undefined)]);
    await until(() => descriptors(process.pid) <= before.ours, { what: 'our descriptors to be back' });
    // It says that a process has ended before it has looked for what that left behind.
    await until(() => descriptors(spawnerPid()) <= before.spawners, { what: 'its descriptors to be back' });
  });

  it('are withdrawn before they run when they are killed', async () => {
    const children = Array.from({ length: 5 }, () => client.launch(shell('NAP')));
    const ends = children.map((child) => endOf(child).catch((error: NodeJS.ErrnoException) => error.code));
    for (const child of children) child.kill('SIGKILL');
    const withdrawn = (await Promise.all(ends)).filter((end) => end === 'ECANCELED');
    expect(withdrawn.length).toBeGreaterThanOrEqual(4);
    expect(client.stats()).toMatchObject({ waiting: 0, running: 0 });
  });
});

describe('what a process leaves behind', () => {
  const leavings: [string, string][] = [
    ['in its group', 'NAP &'],
    ['in a session of its own, deaf to SIGTERM', `setsid sh -c 'trap "" TERM HUP; NAP; true' &`],
    ['without its environment', 'setsid env -i NAP &'],
    ['forked twice', `setsid sh -c 'setsid NAP & exit' &`],
    ['as a tree of sessions', `setsid sh -c 'setsid sh -c "setsid NAP & setsid NAP & NAP" & NAP' &`],
    ['under a changed mark', `(ulimit -x 77; setsid NAP) &`],
  ];

  it.each(leavings)('%s, is ended with it', async (_how, script) => {
    const killed = await running(shell(`${script} exec cat`));
    await until(() => napping().length > 0, { what: 'what it leaves behind' });
    killed.kill('SIGKILL');
    await until(() => napping().length === 0, { what: 'its end' });
    // The same when it ends by itself.
    const ended = await running(shell(`${script} cat`));
    await until(() => napping().length > 0, { what: 'what it leaves behind' });
    ended.stdin.end();
    await until(() => napping().length === 0, { what: 'its end' });
  });

  it('lives as long as the process itself, whatever other processes do', async () => {
    const child = await running(shell(`setsid sh -c 'setsid env -i NAP & exit' & exec cat`));
    await until(() => napping().length === 1, { what: 'the daemon' });
    const [daemon = NaN] = napping();
    await until(() => parentOf(daemon) === spawnerPid(), { what: 'the daemon to be the spawner’s' });
    for (let n = 0; n < 5; n++) await run(shell('true & true'));
    expect(napping()).toEqual([daemon]);
    child.kill('SIGKILL');
    await until(() => napping().length === 0, { what: 'its end' });
  });

  it('is caught even when it forks and exits without end', async () => {
    const script = `import os, sys
os.setsid()
while True:
    if os.fork(): os._exit(0)
    os.setsid()
`;
    const child = await running(shell(`python3 -c '${script}' sleep ${nap} & exec cat`));
    await until(() => napping().some((pid) => parentOf(pid) === spawnerPid()), { what: 'the runner' });
    child.kill('SIGKILL');
    // Not just between two forks, where one look may miss it.
    const isGone = (): boolean => Array.from({ length: 20 }, napping).every((pids) => pids.length === 0);
    await until(isGone, { what: 'its end' });
  });

  it('is reaped', async () => {
    await run(shell('true & (true &) ; setsid true & wait'));
    await until(() => childrenOf(spawnerPid()) === '', { what: 'no child, no zombie' });
  });
});

describe('a spawner that dies', () => {
  it('takes its tools along, with what they left behind; the next start works', async () => {
    const tools = await Promise.all([
      running(shell('NAP')),
      running(shell(`setsid sh -c 'trap "" TERM; setsid env -i NAP & NAP' & NAP`)),
    ]);
    await until(() => napping().length === 4, { what: 'all to run' });
    const ends = tools.map(endOf);
    const first = spawnerPid();
    process.kill(first, 'SIGKILL');
    expect(await Promise.all(ends)).toEqual([
      [null, 'SIGKILL'],
      [null, 'SIGKILL'],
    ]);
    await until(() => napping().length === 0, { what: 'the end of all' });
    expect((await run(shell('echo again'))).stdout).toBe('again\n');
    expect(client.stats()).toMatchObject({ restarts: 1, running: 0 });
    expect(spawnerPid()).not.toBe(first);
    expect(died).toEqual([{ type: 'died', pid: first, why: 'ended with SIGKILL', running: 2 }]);
  });

  it('owes nobody a start: they are asked of the next one', async () => {
    await run(shell('true'));
    const runs = Array.from({ length: 20 }, (_, n) => client.launch(shell(`echo ${n}`)));
    const ends = runs.map(endOf);
    process.kill(spawnerPid(), 'SIGKILL');
    const all = await Promise.all(ends);
    // Those that ran already died with it.
    expect(all.filter(([code]) => code === 0).length).toBeGreaterThanOrEqual(16);
    expect(client.stats()).toMatchObject({ waiting: 0, running: 0, restarts: 1 });
  });

  it('twenty times over is replaced twenty times', async () => {
    for (let n = 0; n < 20; n++) {
      const child = await running(shell('NAP'));
      const end = endOf(child);
      process.kill(spawnerPid(), 'SIGKILL');
      expect(await end).toEqual([null, 'SIGKILL']);
    }
    expect(client.stats()).toMatchObject({ usable: true, restarts: 20, running: 0 });
  });

  it('is noticed when it only hangs', async () => {
    client = makeClient({ timeoutMs: 2_500 });
    await run(shell('true'));
    process.kill(spawnerPid(), 'SIGSTOP');
    expect((await run(shell('echo on'))).stdout).toBe('on\n');
    expect(died).toMatchObject([{ type: 'died', why: 'ended with SIGKILL' }]);
  });
});

/** As in a container: its root is no master of other users' limits, by which the spawner knows whose a process is. */
describe('tools of another user, at a spawner without CAP_SYS_RESOURCE', () => {
  const asRoot = process.getuid?.() === 0;
  const setpriv = (options: string): string => (asRoot ? `setpriv ${options}` : '');
  const another = setpriv('--reuid 70001 --regid 70001 --clear-groups');

  beforeEach(() => {
    const weak = join(folder, 'spawner');
    const without = setpriv('--bounding-set -sys_resource --inh-caps -sys_resource');
    writeFileSync(weak, `#!/bin/sh\nexec ${without} '${binary}' "$@"\n`, { mode: 0o755 });
    client = makeClient({ binary: weak });
  });

  it('keep what they leave behind as long as they live', async () => {
    const tool = await running(
      shell(`exec ${another} bash -c "setsid sh -c 'setsid NAP & exit' & exec cat"`),
    );
    await until(() => napping().length === 1, { what: 'what it leaves behind' });
    const [left] = napping();
    // With each that ends the spawner looks for orphans.
    for (let n = 0; n < 3; n++) await run(shell('true'));
    expect(napping()).toEqual([left]);
    tool.kill('SIGKILL');
    await until(() => napping().length === 0, { what: 'its end' });
  });

  it('end with the spawner, and what they left behind too', async () => {
    await running(shell(`exec ${another} bash -c "setsid env -i NAP & NAP"`));
    await until(() => napping().length === 2, { what: 'both to run' });
    process.kill(spawnerPid(), 'SIGKILL');
    expect((await run(shell('echo again'))).stdout).toBe('again\n');
    await until(() => napping().length === 0, { what: 'the end of both' });
  });
});

describe('a spawner that cannot work', () => {
  it.each([
    ['does not exist', '/no/such/spawner', /cannot be started: spawn .* ENOENT/],
    ['ends at once', '/bin/false', /ended with exit code 1/],
  ])('because it %s: a start fails with the reason, later ones are direct', async (_why, file, why) => {
    client = makeClient({ binary: file });
    await expect(run(shell('true'))).rejects.toThrow(why);
    expect(died.at(-1)).toEqual({ type: 'unusable', why: expect.stringMatching(why) });
    expect(client.stats()).toMatchObject({ usable: false, restarts: 2, waiting: 0 });
    expect((await run(shell('cat; exit 3'), 'direct')).stdout).toBe('direct');
  });
});

describe('close', () => {
  it('ends everything and the spawner; nothing is started afterwards', async () => {
    const child = await running(shell(`setsid sh -c 'trap "" TERM; NAP' & NAP`));
    await until(() => napping().length === 2, { what: 'both' });
    const end = endOf(child);
    const spawner = spawnerPid();
    await client.close();
    expect(await end).toEqual([null, 'SIGKILL']);
    expect(napping()).toEqual([]);
    await gone([spawner]);
    expect(() => client.launch(shell('true'))).toThrow('the server is stopping');
    await client.close();
    expect(died).toEqual([]);
  });

  it('fails starts that wait', async () => {
    const starts = Array.from({ length: 10 }, () => client.launch(shell('NAP')));
    const ends = Promise.allSettled(starts.map(endOf));
    await client.close();
    expect((await ends).filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
    expect(napping()).toEqual([]);
  });

  it('of a client that never started anything is done at once', async () => {
    await makeClient().close();
    expect(died).toEqual([]);
  });
});
