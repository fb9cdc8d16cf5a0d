import type { Cancellation } from '../../base/common/cancellation.js';
import type { Deadline } from '../../base/common/deadline.js';
import type { JsonObject } from '../../base/common/json.js';
import type { LogNotice, NoticeListener, ToolNotice } from '../../base/common/tool-notice.js';

/** The command line of a tool's process. The environment is complete: nothing is inherited. */
export interface ProcessSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Watches the process. Calls `end` with a reason if it must be killed. @returns ends the watching */
  readonly watch?: (pid: number, end: (why: string) => void) => () => void;
}

/** Durations in milliseconds, sizes in bytes. */
export interface ProcessLimits {
  readonly startTimeoutMs: number;
  /** Pause between closing stdin, SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
  readonly maxLineBytes: number;
  /**
   * Lines per second that the process may write in addition to its answers; each KiB counts as one more. While no
   * request is open, the limit is a tenth and includes stderr. A process 10 s over its budget is killed.
   */
  readonly linesPerSecond: number;
  /** Maximum bytes buffered for a process that does not read its input. */
  readonly maxPendingInputBytes: number;
  readonly stderrBytes: number;
  /** Default: Toolkeeper's own protocol (docs/tools/protocol.md). */
  readonly dialect?: Dialect;
  /** Redacts secrets in all output before it is read. @param cut the ends at which the text was cut off */
  readonly clean?: (text: string, cut?: { readonly start?: boolean; readonly end?: boolean }) => string;
}

/** All durations in milliseconds, all sizes in bytes. */
export interface PoolSettings extends ProcessLimits {
  readonly name: string;
  readonly spec: ProcessSpec;
  /** Processes kept ready from the start (only with keepAlive). */
  readonly minProcesses: number;
  readonly poolSize: number;
  /** false: each request gets a fresh process, and a spare one is started in advance. */
  readonly keepAlive: boolean;
  /** Requests that one process serves at a time. */
  readonly maxConcurrency: number;
  /** Requests that may wait in addition to the running ones. */
  readonly maxQueue: number;
  readonly idleTimeoutMs: number;
  /**
   * Limits after which a process is replaced (with keepAlive); 0: no limit. Each process draws its own limits for
   * requests and age between three quarters and the whole of these, so that processes started together are not
   * replaced together.
   */
  readonly maxRequests: number;
  readonly maxAgeMs: number;
  /** Resident memory of the process and its descendants. */
  readonly maxRssBytes: number;
  /** Time for a tool with `cancel` to end a call, or an MCP server to answer a ping after it; 0: the process is killed. */
  readonly cancelGraceMs: number;
  /** Failed starts in a row after which the pool reports `failed`. */
  readonly maxFailedStarts: number;
}

/** A tool's answer to `initialize`. */
export interface Handshake extends Partial<ServerLists> {
  readonly name?: string;
  /** An MCP server's instructions are its description. */
  readonly description?: string;
  readonly version?: string;
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  readonly maxConcurrency?: number;
  /** Absent: 1.0. */
  readonly protocolVersion?: string;
  /** Known capabilities that the tool declared; absent if there are none. */
  readonly capabilities?: Capabilities;
  /** Capabilities of an MCP server as it declared them. */
  readonly offers?: JsonObject;
}

/** Lists of an MCP server. Each item is an object; nothing else is checked. */
export interface ServerLists {
  readonly tools: readonly JsonObject[];
  readonly resources?: readonly JsonObject[];
  readonly resourceTemplates?: readonly JsonObject[];
  readonly prompts?: readonly JsonObject[];
}

/** Notifications that a tool accepts. */
export interface Capabilities {
  readonly cancel?: true;
  readonly shutdown?: true;
}

/** A notice and the call that it names, if any. */
export interface AddressedNotice {
  readonly notice: ToolNotice;
  readonly id?: string;
  readonly executionId?: string;
}

/** Sends messages of a dialect to a process. */
export interface DialectSender {
  /** @param answered gets the answer and its size, unless the process ends first @param otherwise why the start failed then */
  request(
    method: string,
    params: object,
    answered: (reply: Reply, bytes: number) => void,
    otherwise?: string,
  ): void;
  /** Sends a request that stays open as long as the process: its answer is ignored. @returns its id */
  subscribe(method: string, params: object): string;
  notify(method: string, params: object): void;
  /** Answers a request of the pool that the session has kept open. */
  settle(id: string, reply: Reply): void;
}

/** The dialect's side of one process. */
export interface DialectSession {
  /** Handles a request of the process, or a notification that is no notice of a call. @returns the reply to send, if any */
  handle(message: JsonObject): Reply | undefined;
  /** Rewrites a request of the pool or its cancellation. @returns undefined to write it unchanged */
  outgoing?(id: string, method: string, params: object): { method: string; params: object } | undefined;
  /** @returns whether an answer ends its request; otherwise the session settles it later */
  isFinal?(id: string, reply: Reply): boolean;
  /** Called when a request of the pool was abandoned. */
  forgotten?(id: string): void;
}

/** A protocol on top of JSON-RPC lines: the pool's own, or MCP. */
export interface Dialect {
  /** Names of the pool's methods on the wire. */
  readonly methods: Readonly<Record<RequestOptions['method'], string>>;
  /**
   * Starts the handshake with a new process.
   * @param onHandshake called with the handshake, or with the reason why the process cannot be used; called again
   * if the handshake changes later
   */
  begin(sender: DialectSender, onHandshake: (handshake: Handshake | string) => void): DialectSession;
  readonly readNotice: (method: unknown, params: unknown) => AddressedNotice | 'unknown' | 'malformed';
  /** The URI of the resource whose update a notification reports. */
  updatedIn?(message: JsonObject): string | undefined;
  /** The notification that cancels a request. */
  cancel(id: string, reason: TerminationReason): { readonly method: string; readonly params: object };
  /** Whether a cancelled request gets no answer, so that a health request must show that the process still responds. */
  readonly asksAfterCancel: boolean;
  /** The method of the process's request that is passed on to the caller of its call. */
  readonly relayedMethod?: string;
}

/** Passes a request of a process on to the caller of its call. Never rejects. @returns undefined if that is not possible */
export type Relay = (message: JsonObject) => Promise<Reply> | undefined;

/** One request to a pool. */
export interface RequestOptions {
  readonly method: 'execute' | 'health';
  /** The method on the wire; absent: the dialect's method for calls. */
  readonly wireMethod?: string | undefined;
  /** Called when the request is written, so that `timeout` in its context is the remaining time. */
  readonly params: (remainingMs: number) => object;
  readonly deadline: Deadline;
  /** Awaited when a process is reserved for the request, before it is written. If it throws, nothing is written. */
  readonly begin?: (() => Promise<void>) | undefined;
  /** Cancelled when the caller leaves. */
  readonly cancellation?: Cancellation | undefined;
  /** Requires a process that has not served any request yet. */
  readonly fresh?: boolean;
  /** Id by which the tool's notices may refer to the call. */
  readonly executionId?: string;
  /** Receives the tool's notices while it works. */
  readonly onNotice?: NoticeListener;
  /** Receives the requests of the process that its dialect relays. */
  readonly onRequest?: Relay | undefined;
}

/** Observations of one request, for the metric's metadata. */
export interface RequestNotes {
  queueMs?: number;
  spawnMs?: number;
  pid?: number;
  exitCode?: number | null;
  signal?: string | null;
  stderrTail?: string;
  outputBytes?: number;
  /** The answer as the tool wrote it. */
  outputText?: string | undefined;
  /** Lines on stdout that are no messages, of the whole process: their number, and the beginning of the last few. */
  strayLines?: { readonly count: number; readonly last: readonly string[] };
  /** Mode (`form` or `url`) of a request to the caller that was not passed on. */
  unasked?: string;
}

/** A JSON-RPC error. */
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

/** Why a request ends unanswered without a fault of its process. */
export type GiveUpReason = Extract<PoolFailureReason, 'timeout' | 'cancelled' | 'shutting_down'>;

/** An expected failure of a request other than an error answer of the tool. */
export class PoolFailure extends Error {
  override readonly name = 'PoolFailure';

  constructor(
    readonly reason: PoolFailureReason,
    message: string,
    readonly notes: RequestNotes = {},
    /** Whether the request was written to the process, so that a retry may repeat its effects. */
    readonly written = false,
  ) {
    super(message);
  }
}

/** A reservation in a pool for one call, taken before the call is recorded. */
export interface PoolSlot {
  /**
   * Runs a request on a process of its own or, with maxConcurrency, on a shared one. A slot may run several requests in turn.
   * @returns the tool's answer, which may be an error @throws PoolFailure for every other failure
   */
  run(options: RequestOptions): Promise<PoolAnswer>;
  /** Gives the slot back. Later calls have no effect. */
  readonly release: () => void;
}

/** The limit for which a process was replaced. */
export type ExpiryReason = 'requests' | 'age' | 'memory';

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
  | ExpiryReason
  | 'stop'
  | 'start_failed'
  | 'cancelled';

/** How a process ended. */
export interface Ending {
  readonly reason: TerminationReason;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderrTail: string;
  /** The rule for whose violation the process was killed. */
  readonly why?: string | undefined;
}

/** Output of a process other than its answers. */
export type ProcessOutput =
  /** A line on stderr, the first 4 KiB of a longer one (`cut`), or the number of bytes that were skipped in a flood. */
  | {
      readonly type: 'stderr';
      readonly line: string;
      readonly cut: boolean;
      readonly skippedBytes: number;
      /** The call that the process runs, if it runs one alone. */
      readonly executionId?: string | undefined;
    }
  /** A resource of an MCP server was updated. */
  | { readonly type: 'updated'; readonly uri: string }
  /** The lists and instructions of an MCP server, at its start and after each change that it announces. */
  | { readonly type: 'listed'; readonly handshake: Handshake }
  /** A line on stdout that is not a message, or a summary of `lines` such lines. */
  | { readonly type: 'unparsed'; readonly line: string; readonly lines: number }
  | {
      readonly type: 'log';
      readonly notice: LogNotice;
      /** The call that it belongs to, if known. */
      readonly executionId: string | undefined;
    };

/** Output of one process other than its answers, and its end. */
export type ProcessNews = (ProcessOutput | ({ readonly type: 'terminate' } & Ending)) & {
  readonly pid: number;
};

/** Events of a pool, emitted synchronously. The pool itself depends on no logger and no metrics. */
export type PoolEvent =
  /** A process is starting; `spawn` or `start_failed` follows. */
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
  /** The first successful start after `failed`. */
  | { readonly type: 'recovered'; readonly pool: string }
  | (ProcessOutput & { readonly pool: string; readonly pid: number });

export interface PoolStats {
  readonly starting: number;
  readonly idle: number;
  readonly busy: number;
  readonly waiting: number;
  readonly pids: readonly number[];
}
