import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, constants as fsConstants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { getSystemErrorName } from 'node:util';
import type { ProcessSpec } from './pool.types.js';

/** Consecutive failed starts after which the spawner counts as unusable. */
const maxFailures = 3;
const failurePauseMs = 100;
/** Timeout for the spawner's end, before which it kills all tools. */
const endTimeoutMs = 12_000;

/** Settings of the spawner. */
export interface SpawnerOptions {
  /** Path of the binary built from native/spawner.c. */
  readonly binary: string;
  /** Time after which a spawner that owes an answer is killed. Default 10 000. */
  readonly timeoutMs?: number;
}

interface SpawnerObserver {
  /** Called when a spawner, the first or a replacement, accepts requests. */
  ready(): void;
  reply(reply: ToolReply): void;
  /** Called when a spawner has died, and its tools with it. Pending requests stay unanswered. */
  lost(pid: number | undefined, why: string): void;
  /** Called last, if no spawner works on this host. */
  unusable(why: string): void;
}

/** One running process of the binary. */
interface Run {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  /** Whether it has reported that it works. */
  ready: boolean;
}

/** Keeps a spawner running and replaces one that dies. */
export class Spawner {
  /** The mark that identifies tools' descendants; a replacement uses the same. */
  private readonly mark = newMark();
  private run: Run | undefined;
  private failures = 0;
  /** Timer for a due answer, for the pause before the next start, or for the end. */
  private timer: NodeJS.Timeout | undefined;
  private started = false;
  private closing: PromiseWithResolvers<void> | undefined;
  /** Number of times that a dead spawner was replaced. */
  restarts = 0;

  constructor(
    private readonly options: SpawnerOptions,
    private readonly observer: SpawnerObserver,
  ) {}

  /** Whether the spawner accepts requests. */
  get ready(): boolean {
    const { run } = this;
    return run?.ready === true && run.child.exitCode === null && run.child.signalCode === null;
  }

  get pid(): number | undefined {
    return this.run?.child.pid;
  }

  /** Starts the spawner; later calls have no effect. */
  start(): void {
    if (this.started || this.closing) return;
    this.started = true;
    this.open();
  }

  send(frame: Buffer): void {
    if (this.ready) this.run?.child.stdin.write(frame);
  }

  /** Starts the timeout of an expected answer, or clears it if none is expected. */
  owes(anything: boolean): void {
    if (this.ready) this.expectReply(anything);
  }

  /** Ends the spawner, which first ends all tools and their descendants. Resolves when it has exited. */
  close(): Promise<void> {
    if (!this.closing) {
      this.closing = Promise.withResolvers();
      clearTimeout(this.timer);
      if (this.run) {
        this.run.child.stdin.end();
        this.timer = setTimeout(() => this.kill(), endTimeoutMs);
      } else this.closing.resolve();
    }
    return this.closing.promise;
  }

  private open(): void {
    // In its own session, so that Ctrl-C reaches it only through us. It inherits stderr but does not write to it.
    const child = spawn(this.options.binary, [this.mark], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const run: Run = { child, ready: false };
    this.run = run;
    child.on('error', (error) => this.ended(run, `cannot be started: ${error.message}`));
    // On `close`, not on `exit`: earlier replies may still be in the pipe.
    child.on('close', (code, signal) => this.ended(run, `ended with ${signal ?? `exit code ${code}`}`));
    if (child.pid === undefined) return;
    const reader = new ReplyReader((reply) => this.take(run, reply));
    child.stdin.on('error', () => undefined);
    child.stdout.on('error', () => undefined).on('data', (chunk: Buffer) => reader.push(chunk));
    this.expectReply(true);
  }

  private expectReply(due: boolean): void {
    if (this.closing) return;
    clearTimeout(this.timer);
    this.timer = due ? setTimeout(() => this.kill(), this.options.timeoutMs ?? 10_000) : undefined;
  }

  private kill(): void {
    this.run?.child.kill('SIGKILL');
  }

  private take(run: Run, reply: SpawnerReply): void {
    if (reply.kind !== 'ready') return this.observer.reply(reply);
    if (reply.version !== protocolVersion) return this.kill();
    run.ready = true;
    this.failures = 0;
    this.expectReply(false);
    this.observer.ready();
  }

  private ended(run: Run, why: string): void {
    // `close` may follow an error.
    if (this.run !== run) return;
    this.run = undefined;
    clearTimeout(this.timer);
    const { pid } = run.child;
    if (this.closing) {
      this.observer.lost(pid, why);
      return this.closing.resolve();
    }
    if (!run.ready && ++this.failures >= maxFailures) return this.observer.unusable(why);
    this.restarts++;
    // A spawner that worked is replaced before its death is reported.
    if (run.ready) this.open();
    else this.timer = setTimeout(() => this.open(), failurePauseMs * this.failures);
    this.observer.lost(pid, why);
  }
}

/** Base of the marks, far above any real limit. A tool's mark is this plus its id, so the lower half is free. */
function newMark(): string {
  return `2${randomBytes(4).toString('hex').slice(1)}00000000`;
}

/** Frames of native/spawner.c, described at its top: unsigned 32-bit numbers, little endian. */
const requestKinds = { spawn: 1, signal: 2, release: 3 } as const;
const headerBytes = 12;
const replyBytes = 24;
/** Maximum bytes of a request to the spawner. The system's limit for arguments and environment is lower. */
const maxBytes = 16 * 1_024 * 1_024;

const protocolVersion = 1;

export type SpawnerReply = { readonly kind: 'ready'; readonly version: number } | ToolReply;

export type ToolReply =
  /** Descriptors in the spawner: [write end of stdin, read end of stdout, read end of stderr]. */
  | {
      readonly kind: 'started';
      readonly id: number;
      readonly pid: number;
      readonly fds: readonly [number, number, number];
    }
  | { readonly kind: 'failed'; readonly id: number; readonly errno: number }
  | {
      readonly kind: 'exited';
      readonly id: number;
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };

/** The frame that starts a process. @throws TypeError for NUL characters, as Node does; Error E2BIG over the limit */
export function encodeSpawn(id: number, { command, args, cwd, env }: ProcessSpec): Buffer {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const strings = [command, cwd, command, ...args, ...variables];
  if (strings.some((string) => string.includes('\0'))) {
    throw new TypeError('command, arguments, directory and environment must not hold NUL characters');
  }
  const text = Buffer.from(`${strings.join('\0')}\0`);
  if (text.length + 8 > maxBytes) throw systemError(-constants.errno.E2BIG, command);
  const body = Buffer.allocUnsafe(8);
  body.writeUInt32LE(args.length + 1, 0);
  body.writeUInt32LE(variables.length, 4);
  return Buffer.concat([header('spawn', id, 8 + text.length), body, text]);
}

/** The frame that sends a signal to a process group. */
export function encodeSignal(id: number, signal: NodeJS.Signals): Buffer {
  const body = Buffer.allocUnsafe(4);
  body.writeUInt32LE(constants.signals[signal], 0);
  return Buffer.concat([header('signal', id, 4), body]);
}

/** The frame by which the spawner closes its ends of a tool's pipes. */
export function encodeRelease(id: number): Buffer {
  return header('release', id, 0);
}

function header(kind: keyof typeof requestKinds, id: number, bodyBytes: number): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes);
  frame.writeUInt32LE(bodyBytes, 0);
  frame.writeUInt32LE(requestKinds[kind], 4);
  frame.writeUInt32LE(id, 8);
  return frame;
}

/** The error that Node's `spawn` would emit. @param errno negative, as in libuv */
export function systemError(errno: number, command: string): NodeJS.ErrnoException {
  const code = getSystemErrorName(errno);
  const error = new Error(`spawn ${command} ${code}`);
  return Object.assign(error, { errno, code, syscall: `spawn ${command}`, path: command });
}

/** Splits the spawner's output into replies. */
export class ReplyReader {
  private rest: Buffer = Buffer.alloc(0);

  constructor(private readonly take: (reply: SpawnerReply) => void) {}

  push(chunk: Buffer): void {
    const all = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const whole = all.length - (all.length % replyBytes);
    // Stored before the callbacks, which may throw.
    this.rest = all.subarray(whole);
    for (let at = 0; at < whole; at += replyBytes) this.take(decode(all.subarray(at, at + replyBytes)));
  }
}

type Words = [kind: number, id: number, a: number, b: number, c: number, d: number];

function decode(frame: Buffer): SpawnerReply {
  const [kind, id, a, b, c, d] = [0, 4, 8, 12, 16, 20].map((at) => frame.readUInt32LE(at)) as Words;
  switch (kind) {
    case 1:
      return { kind: 'ready', version: a };
    case 2:
      return { kind: 'started', id, pid: a, fds: [b, c, d] };
    case 3:
      return { kind: 'failed', id, errno: -a };
    case 4:
      return b === 0
        ? { kind: 'exited', id, code: a, signal: null }
        : { kind: 'exited', id, code: null, signal: signalName(b) };
    default:
      throw new Error(`The spawner sent an unknown message: ${kind}`);
  }
}

function signalName(number: number): NodeJS.Signals {
  const names = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  // Real-time signals have no name; they are reported as SIGKILL.
  return names.find(([, each]) => each === number)?.[0] ?? 'SIGKILL';
}

/** The gateway's ends of a tool's pipes. */
export interface Pipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Opens the gateway's ends of a tool's pipes through the spawner's /proc entries. Each end is a separate open file, so
 * O_NONBLOCK affects only the gateway, and the spawner may close its own. Synchronous, because three system calls of a
 * few microseconds are faster than Node's thread pool.
 * @param buffer receives all reads. Listeners must copy a chunk that they keep. A buffer per read would add half of
 * the cost of reading, and more memory than the data itself during a flood.
 * @throws a system error; nothing is left open
 */
export function openPipes(
  spawnerPid: number,
  fds: readonly [number, number, number],
  buffer: Uint8Array<ArrayBuffer>,
): Pipes {
  const opened: number[] = [];
  try {
    const modes = [fsConstants.O_WRONLY, fsConstants.O_RDONLY, fsConstants.O_RDONLY];
    for (const [n, fd] of fds.entries()) {
      opened.push(openSync(`/proc/${spawnerPid}/fd/${fd}`, (modes[n] ?? 0) | fsConstants.O_NONBLOCK));
    }
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
  const [stdin, stdout, stderr] = opened as [number, number, number];
  const input = (fd: number): Readable => {
    const callback = (bytes: number, { buffer }: Uint8Array): boolean => {
      socket.emit('data', Buffer.from(buffer, 0, bytes));
      return true;
    };
    const socket: Socket = new Socket({ fd, readable: true, writable: false, onread: { buffer, callback } });
    return socket;
  };
  return {
    stdin: new Socket({ fd: stdin, readable: false, writable: true }),
    stdout: input(stdout),
    stderr: input(stderr),
  };
}
