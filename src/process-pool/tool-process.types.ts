import type { ChildProcessWithoutNullStreams } from 'node:child_process';
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

/** Starts an executable as the leader of its own process group, with three pipes. */
export type Launcher = (spec: ProcessSpec) => ChildProcessWithoutNullStreams;

/** How a process ended. */
export interface Ending {
  readonly reason: TerminationReason;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderrTail: string;
}

/** Who waits for the answer to one request; exactly one of the two is called, or none after `forget`. */
export interface Exchange {
  answered(reply: Reply, outputBytes: number): void;
  failed(reason: PoolFailureReason, message: string, ending?: Ending): void;
}

/** Who owns a process. Everything is said synchronously; `startFailed` comes before `ended`, `ended` is the last. */
export interface ProcessObserver {
  ready(handshake: Handshake): void;
  startFailed(error: string): void;
  noise(line: string): void;
  stderr(chunk: Buffer): void;
  /** The process reads its input again. */
  drained(): void;
  /** It closed one of its pipes and is about to end, or is made to. */
  broken(): void;
  ended(ending: Ending): void;
}
