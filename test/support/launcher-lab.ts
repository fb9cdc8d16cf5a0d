import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { makeTestFolder } from './test-folder.js';

const native = resolve('native/bin', `launcher-${process.arch}`);
const fixtures = resolve('test/fixtures/hostile');
const arch = process.arch === 'arm64' ? 'aarch64' : 'x86_64';

/** Who runs a tool: a test that runs as root tries both, another one itself. */
export interface User {
  readonly name: string;
  readonly uid: number;
}
export const self: User = { name: 'this user', uid: process.getuid?.() ?? -1 };
const isRoot = self.uid === 0;
export const users: readonly User[] = isRoot
  ? [
      { name: 'root', uid: 0 },
      { name: 'nobody', uid: 65_534 },
    ]
  : [self];

/** What `--probe` prints. */
export interface Probe {
  readonly landlockAbi: number;
  readonly landlock: boolean;
  readonly signalScope: boolean;
  readonly seccomp: boolean;
  readonly pdeathsig: boolean;
  readonly uid: number;
}
/** What works on this host. */
export const probe = JSON.parse(execFileSync(native, ['--probe'], { encoding: 'utf8' })) as Probe;

/** What this host cannot show is said, not passed over in silence. */
export const sayUntested = (what: string): boolean =>
  process.stdout.write(`The launcher, not tested on this host: ${what}\n`);

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Python {
  readonly executable: string;
  /** Folders with its modules. */
  readonly modules: readonly string[];
}

/** The loader and the folder of libraries of the host's own libc: real paths, for no link is granted. */
export const loader = realpathSync(
  [`/lib64/ld-linux-x86-64.so.2`, `/lib/ld-linux-aarch64.so.1`].find(existsSync) ?? '/',
);
const libraries = realpathSync(
  [`/usr/lib/${arch}-linux-gnu`, `/lib/${arch}-linux-gnu`].find(existsSync) ?? '/usr/lib64',
);

/** A folder that every user can reach, with the launcher, the hostile programs and a place for each user to write. */
export class LauncherLab {
  readonly folder = realpathSync(makeTestFolder());
  readonly launcher = join(this.folder, 'launcher');
  readonly acts = join(this.folder, 'acts.py');
  /** Undefined where there is no C compiler. */
  readonly cActs = this.compiled();
  readonly python = findPython();
  /** Readable and writable for `user` as far as the host goes, and granted to no tool. */
  readonly outside: string;
  /** Granted with --rw. */
  readonly work: string;
  private readonly children = new Set<ChildProcess>();

  constructor(readonly user: User) {
    chmodSync(this.folder, 0o755);
    this.copy(native, this.launcher);
    this.copy(join(fixtures, 'acts.py'), this.acts);
    this.outside = this.ownFolder('outside');
    this.work = this.ownFolder('work');
  }

  /** A new file of the user's outside of what tools may touch. */
  outsideFile(name: string): string {
    const path = join(this.outside, name);
    writeFileSync(path, 'a secret\n', { mode: 0o644 });
    if (isRoot) chownSync(path, this.user.uid, this.user.uid);
    return path;
  }

  /** The smallest list under which Python runs, and the acts are read. */
  get pythonPaths(): string[] {
    const { executable, modules } = this.python;
    const read = [libraries, ...modules, this.acts].flatMap((path) => ['--ro', path]);
    return ['--rx', executable, '--rx', loader, ...read, '--rw', this.work, '--rw', '/dev/null'];
  }

  /** A copy of a program where every user can reach it. */
  copied(program: string): string {
    const path = join(this.folder, basename(program));
    if (!existsSync(path)) this.copy(program, path);
    return path;
  }

  /** The least with which a program that is linked to shared libraries starts. */
  pathsOf(program: string): string[] {
    return ['--rx', program, '--rx', loader, '--ro', libraries];
  }

  /** The command line of an act of acts.py, confined by `options` unless they are undefined. */
  act(options: readonly string[] | undefined, ...args: readonly string[]): string[] {
    return this.confined(options, this.python.executable, this.acts, ...args);
  }

  confined(options: readonly string[] | undefined, ...command: readonly string[]): string[] {
    return options === undefined ? [...command] : [this.launcher, ...options, '--', ...command];
  }

  /** Runs as the lab's user, in the folder `work`, with nothing but a PATH in the environment. */
  async run(command: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const child = this.start(command, env);
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    return new Promise((done, failed) => {
      child.once('error', failed);
      child.once('close', (code, signal) => done({ code, signal, stdout, stderr }));
    });
  }

  /** What an act of acts.py or acts.c prints: `done`, or `stopped: …`; how it ended where it could print neither. */
  async attempt(command: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
    const { stdout, stderr, code, signal } = await this.run(command, env);
    return stdout.trim() || `stopped: code ${code} signal ${signal} ${stderr.trim()}`;
  }

  /** The act succeeds without the launcher and is stopped under these options; gives what it said then. */
  async stopped(options: readonly string[], ...act: readonly string[]): Promise<string> {
    expect(await this.attempt(this.act(undefined, ...act))).toBe('done');
    const said = await this.attempt(this.act(options, ...act));
    expect(said).toMatch(/^stopped: /);
    return said;
  }

  /** These options, and the paths under which Python runs where the kernel can restrict paths at all. */
  pathsAnd(...options: string[]): string[] {
    return [...(probe.landlock ? this.pythonPaths : []), ...options];
  }

  start(command: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    const [program = '', ...args] = command;
    const identity = isRoot ? { uid: this.user.uid, gid: this.user.uid } : {};
    const child = spawn(program, args, {
      ...identity,
      cwd: this.work,
      env: { PATH: '/usr/bin:/bin', HOME: this.work, ...env },
      detached: true,
      timeout: 25_000,
      killSignal: 'SIGKILL',
    });
    this.children.add(child);
    child.once('close', () => this.children.delete(child));
    return child;
  }

  close(): void {
    for (const { pid } of this.children) if (pid) killGroup(pid);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private ownFolder(name: string): string {
    const path = join(this.folder, name);
    mkdirSync(path);
    if (isRoot) chownSync(path, this.user.uid, this.user.uid);
    return path;
  }

  private copy(from: string, to: string): void {
    copyFileSync(from, to);
    chmodSync(to, 0o755);
  }

  private compiled(): string | undefined {
    const program = join(this.folder, 'acts');
    if (!existsSync('/usr/bin/gcc')) return undefined;
    const flags = ['-static', '-O1', '-Wall', '-Wextra', '-Werror'];
    execFileSync('/usr/bin/gcc', [...flags, '-o', program, join(fixtures, 'acts.c')]);
    return program;
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}

/** The distribution's own where it is there: one below a home folder is out of other users' reach. */
function findPython(): Python {
  const command = ['/usr/bin/python3', '/usr/local/bin/python3'].find(existsSync) ?? 'python3';
  const script =
    'import sys, sysconfig as s; print(sys.executable); print(s.get_path("stdlib")); print(s.get_config_var("LIBDIR"))';
  const [executable = '', stdlib = '', libdir = ''] = execFileSync(command, ['-c', script], {
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
  // A Python built from source has its shared library in the folder of that configuration variable.
  const own = libdir.startsWith('/usr/lib') ? [] : [libdir];
  return { executable: realpathSync(executable), modules: [realpathSync(stdlib), ...own] };
}
