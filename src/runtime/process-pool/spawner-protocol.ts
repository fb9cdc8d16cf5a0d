import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';
import type { ProcessSpec } from './pool.types.js';

/** Frames of native/spawner.c, described at its top: unsigned 32-bit numbers, little endian. */
const requestKinds = { spawn: 1, signal: 2, release: 3 } as const;
/** Length of a request's header: length of the body, kind and id. */
const headerBytes = 12;
/** Length of each reply: kind, id and four numbers. */
const replyBytes = 24;
/** Maximum bytes of a request to the spawner. The system's limit for arguments and environment is lower. */
const maxRequestBytes = 16 * 1_024 * 1_024;

/** Version in the spawner's first reply. */
export const protocolVersion = 1;

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
  const strings = [command, cwd, command, ...args];
  for (const [name, value] of Object.entries(env)) strings.push(`${name}=${value}`);
  if (strings.join('').includes('\0'))
    throw new TypeError('command, arguments, directory and environment must not hold NUL characters');
  const text = Buffer.from(`${strings.join('\0')}\0`);
  if (text.length + 8 > maxRequestBytes) throw systemError(-constants.errno.E2BIG, command);
  const body = Buffer.allocUnsafe(8);
  body.writeUInt32LE(args.length + 1, 0);
  body.writeUInt32LE(Object.keys(env).length, 4);
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

  constructor(private readonly receive: (reply: SpawnerReply) => void) {}

  push(chunk: Buffer): void {
    const all = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const whole = all.length - (all.length % replyBytes);
    // Stored before the callbacks, which may throw.
    this.rest = all.subarray(whole);
    for (let at = 0; at < whole; at += replyBytes) this.receive(decode(all.subarray(at, at + replyBytes)));
  }
}

function decode(frame: Buffer): SpawnerReply {
  const kind = frame.readUInt32LE(0);
  const id = frame.readUInt32LE(4);
  const first = frame.readUInt32LE(8);
  const second = frame.readUInt32LE(12);
  switch (kind) {
    case 1:
      return { kind: 'ready', version: first };
    case 2:
      return {
        kind: 'started',
        id,
        pid: first,
        fds: [second, frame.readUInt32LE(16), frame.readUInt32LE(20)],
      };
    case 3:
      return { kind: 'failed', id, errno: -first };
    case 4:
      return second === 0
        ? { kind: 'exited', id, code: first, signal: null }
        : { kind: 'exited', id, code: null, signal: signalName(second) };
    default:
      throw new Error(`The spawner sent an unknown message: ${kind}`);
  }
}

function signalName(number: number): NodeJS.Signals {
  const names = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  // Real-time signals have no name; they are reported as SIGKILL.
  return names.find(([, each]) => each === number)?.[0] ?? 'SIGKILL';
}
