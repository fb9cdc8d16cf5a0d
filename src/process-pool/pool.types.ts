import type { Cancellation } from '../common/cancellation.js';
import type { Deadline } from '../common/deadline.js';
import type { JsonObject } from '../common/json.js';
import type { LogNotice, NoticeListener, ToolNotice } from '../common/tool-notice.js';

/** How one process of a tool is started. The environment is complete: nothing is inherited. */
export interface ProcessSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Durations in milliseconds, sizes in bytes. */
export interface ProcessLimits {
  readonly startTimeoutMs: number;
  /** Pause between closing stdin, SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
  readonly maxLineBytes: number;
  /**
   * Lines that it may write in a second beside its answers, a KiB counting as one; while no request is open a tenth of
   * it, and its stderr counts, too. A process that has written 10 s' worth more than that is ended.
   */
  readonly linesPerSecond: number;
  /** Bytes that may wait in the pipe to a process that does not read. */
  readonly maxPendingInputBytes: number;
  readonly stderrBytes: number;
  /** Absent: Toolkeeper's own (docs/tools/protocol.md). */
  readonly dialect?: Dialect;
}

/** All durations in milliseconds, all sizes in bytes. */
export interface PoolSettings extends ProcessLimits {
  readonly name: string;
  readonly spec: ProcessSpec;
  /** Processes kept ready from the start (only with keepAlive). */
  readonly minProcesses: number;
  readonly poolSize: number;
  /** false: every request gets a fresh process, and a spare one is started ahead. */
  readonly keepAlive: boolean;
  /** Requests that one process serves at a time. */
  readonly maxConcurrency: number;
  /** Requests that may wait beyond those that run. */
  readonly maxQueue: number;
  readonly idleTimeoutMs: number;
  /**
   * The most that a process serves, lives and holds (with keepAlive) until a successor takes its place; 0: no limit.
   * Each process draws its own limits of requests and age, down to three quarters of these: those that started
   * together do not all leave together.
   */
  readonly maxRequests: number;
  readonly maxAgeMs: number;
  /** Resident memory of the process and all below it. */
  readonly maxRssBytes: number;
  /**
   * The time that a tool which declared `cancel` has to end a call that was given up, or one that speaks MCP to answer a
   * ping after it; 0: it is not asked.
   */
  readonly cancelGraceMs: number;
  /** Failed starts in a row after which the pool reports `failed`. */
  readonly maxFailedStarts: number;
}

/** A tool's description of itself in answer to `initialize`. */
export interface Handshake {
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  readonly maxConcurrency?: number;
  /** Absent: 1.0. */
  readonly protocolVersion?: string;
  /** The capabilities that it declared, `true` each; absent where it declared nothing that we know. */
  readonly capabilities?: Capabilities;
  /** Tools of an MCP server as it lists them; each is an object, nothing else is checked. */
  readonly tools?: readonly JsonObject[];
}

/** Notifications that a tool wants to get. */
export interface Capabilities {
  readonly cancel?: true;
  readonly shutdown?: true;
}

/** A notice and the call it names, if it names one. */
export interface AddressedNotice {
  readonly notice: ToolNotice;
  readonly id?: string;
  readonly executionId?: string;
}

/** The messages of a dialect to a process. */
export interface Talk {
  /** @param answered with the bytes of the answer, too; never called when the process ends before it answers */
  ask(method: string, params: object, answered: (reply: Reply, bytes: number) => void): void;
  tell(method: string, params: object): void;
}

/** The messages of a process that answer nothing and are no notice of a call: its requests and other notifications. */
export type Hear = (message: JsonObject) => Reply | undefined;

/** The words of both sides on top of JSON-RPC lines: the pool's own protocol, or MCP. */
export interface Dialect {
  readonly methods: Readonly<Record<RequestOptions['method'], string>>;
  /**
   * Introduces the server to a process that has just started.
   * @param said called with what the process says of itself or why it cannot be used; again when it says something else
   * later
   * @returns what answers the requests of the process; one without an answer is not served
   */
  begin(talk: Talk, said: (handshake: Handshake | string) => void): Hear;
  readonly readNotice: (method: unknown, params: unknown) => AddressedNotice | 'unknown' | 'malformed';
  /** The notification that asks for the end of a request. */
  cancel(id: string, reason: TerminationReason): { readonly method: string; readonly params: object };
  /** A request that was asked to end is not answered any more: that the process goes on is asked by another one. */
  readonly asksAfterCancel: boolean;
}

export interface RequestOptions {
  readonly method: 'execute' | 'health';
  /** Called when the request is written: `timeout` in its context is what is left then. */
  readonly params: (remainingMs: number) => object;
  readonly deadline: Deadline;
  /** Cancelled when the caller leaves. */
  readonly cancellation?: Cancellation | undefined;
  /** Run on a process that has served nobody yet. */
  readonly fresh?: boolean;
  /** The id by which the tool may name the call in its notices. */
  readonly executionId?: string;
  /** Follows what the tool says while it works. */
  readonly onNotice?: NoticeListener;
}

/** Lines of a tool's stdout that were no messages: how many, and the end of the last few. */
export interface StrayLinesReport {
  readonly count: number;
  readonly last: readonly string[];
}

/** Observations while a request ran, for the metric's metadata. */
export interface RequestNotes {
  queueMs?: number;
  spawnMs?: number;
  pid?: number;
  exitCode?: number | null;
  signal?: string | null;
  stderrTail?: string;
  outputBytes?: number;
  /** The answer as it was written. */
  outputText?: string | undefined;
  /** The stray lines of the process, not of this request alone. */
  strayLines?: StrayLinesReport;
}

/** A JSON-RPC answer. */
export interface ReplyError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type Reply = { readonly result: unknown } | { readonly error: ReplyError };

export interface PoolAnswer {
  readonly reply: Reply;
  readonly notes: RequestNotes;
}

export type PoolFailureReason =
  | 'timeout'
  | 'tool_crashed'
  | 'protocol_error'
  | 'output_too_large'
  | 'spawn_failed'
  | 'queue_full'
  | 'cancelled'
  | 'shutting_down';

/** Why a request ends before it is answered, though its process did nothing wrong yet. */
export type GiveUpReason = Extract<PoolFailureReason, 'timeout' | 'cancelled' | 'shutting_down'>;

/** Thrown for every expected way in which a request fails below the tool's own answer. */
export class PoolFailure extends Error {
  override readonly name = 'PoolFailure';

  constructor(
    readonly reason: PoolFailureReason,
    message: string,
    readonly notes: RequestNotes = {},
    /** Bytes of the request reached the process: running it again may repeat its effects. */
    readonly written = false,
  ) {
    super(message);
  }
}

/** Gives back what was taken; calling it twice is harmless. */
export type Release = () => void;

/** Which of its limits a process reached before a successor took its place. */
export type WornBy = 'requests' | 'age' | 'memory';

/** Why a process ended. */
export type TerminationReason =
  | 'exit'
  | 'crash'
  | 'timeout'
  | 'protocol'
  | 'output'
  | 'flood'
  | 'idle'
  | 'one_shot'
  | WornBy
  | 'stop'
  | 'start_failed'
  | 'cancelled';

/** How a process ended. */
export interface Ending {
  readonly reason: TerminationReason;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderrTail: string;
  /** The rule that it broke, where it was ended for that. */
  readonly why?: string | undefined;
}

/** The output of a process beside its answers. */
export type ProcessOutput =
  /** Raw output of the process, in pieces of any size: must not be kept. */
  | { readonly type: 'stderr'; readonly chunk: Buffer }
  /** The tools of an MCP server, at its start and whenever it said that they changed. */
  | { readonly type: 'listed'; readonly tools: readonly JsonObject[] }
  /** A line on stdout that was no message, or so many of them at once. */
  | { readonly type: 'noise'; readonly line: string; readonly lines: number }
  | {
      readonly type: 'log';
      readonly notice: LogNotice;
      /** The call it is about, where that is known. */
      readonly executionId: string | undefined;
    };

/** The output of one process beside its answers, and its end. */
export type ProcessNews = (ProcessOutput | ({ readonly type: 'terminate' } & Ending)) & {
  readonly pid: number;
};

/** Said synchronously; the pool itself knows no logger and no Prometheus. */
export type PoolEvent =
  /** A process is being started; `spawn` or `start_failed` follows. */
  | { readonly type: 'starting'; readonly pool: string }
  /** It answered `initialize` and is ready. */
  | {
      readonly type: 'spawn';
      readonly pool: string;
      readonly pid: number;
      readonly durationMs: number;
      readonly handshake: Handshake;
    }
  | ({ readonly type: 'terminate'; readonly pool: string; readonly pid: number } & Ending)
  | {
      readonly type: 'start_failed';
      readonly pool: string;
      readonly error: string;
      readonly failures: number;
    }
  /** maxFailedStarts reached. */
  | { readonly type: 'failed'; readonly pool: string; readonly error: string }
  /** The first good start after `failed`. */
  | { readonly type: 'recovered'; readonly pool: string }
  | (ProcessOutput & { readonly pool: string; readonly pid: number });

export interface PoolStats {
  readonly starting: number;
  readonly idle: number;
  readonly busy: number;
  readonly waiting: number;
  readonly pids: readonly number[];
}
