import type { Readable, Writable } from 'node:stream';
import type { LogNotice, NoticeListener } from '../tool-contract/tool-notice.js';
import type {
  Handshake,
  PoolFailureReason,
  PoolSettings,
  ProcessSpec,
  Reply,
  TerminationReason,
} from './pool.types.js';

export type ProcessLimits = Pick<
  PoolSettings,
  'startTimeoutMs' | 'stopGraceMs' | 'maxLineBytes' | 'maxPendingInputBytes' | 'stderrBytes'
>;

export type LaunchEvents = {
  spawn: [];
  error: [NodeJS.ErrnoException];
  exit: [code: number | null, signal: NodeJS.Signals | null];
};

/** To be listened to, not to be piped: a chunk of `data` is good until its listeners return. */
export type ProcessOutput = Pick<Readable, 'on' | 'off' | 'destroy' | 'readableEnded'>;

/**
 * A process that is about to run. It says `spawn` and later `exit`, or it says `error` and nothing else (a system
 * error, whose `code` tells why it does not run); never before the launcher has returned it.
 */
export interface LaunchedProcess {
  /** From `spawn` on, and so are the streams. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: ProcessOutput;
  readonly stderr: ProcessOutput;
  on<E extends keyof LaunchEvents>(event: E, listener: (...of: LaunchEvents[E]) => void): this;
  /** Signals its whole group, also before `spawn`; nothing after `exit`. What is left of the group then is killed. */
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts an executable as the leader of its own process group, with three pipes.
 * @throws when it cannot even be tried
 */
export type Launcher = (spec: ProcessSpec) => LaunchedProcess;

/** How a process ended. */
export interface Ending {
  readonly reason: TerminationReason;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderrTail: string;
}

/** Who waits for the answer to one request; exactly one of the two is called, or none after `forget`. */
export interface Exchange {
  /** The call it belongs to, for notices that name it so. */
  readonly executionId?: string;
  /** Its caller is gone; the tool was asked to end it. */
  readonly givenUp?: TerminationReason;
  /** @param resultJson as the tool wrote it, where it can be told */
  answered(reply: Reply, outputBytes: number, resultJson?: string): void;
  failed(reason: PoolFailureReason, message: string, ending?: Ending): void;
  /** The tool said something about it; absent where nobody listens. */
  readonly noticed?: NoticeListener;
}

/** Who owns a process. Everything is said synchronously; `startFailed` comes before `ended`, `ended` is the last. */
export interface ProcessObserver {
  ready(handshake: Handshake): void;
  startFailed(error: string): void;
  noise(line: string): void;
  /** A `log` notification, with the call that it is about where that is known. */
  log(notice: LogNotice, executionId: string | undefined): void;
  stderr(chunk: Buffer): void;
  /** The process reads its input again. */
  drained(): void;
  /** It closed one of its pipes and is about to end, or is made to. */
  broken(): void;
  ended(ending: Ending): void;
}
