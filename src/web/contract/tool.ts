import type { Cancellation } from '../../base/common/cancellation.js';
import type { Deadline } from '../../base/common/deadline.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import type { Verdict } from '../../base/schemas/schema-repair.js';
import type { NoticeListener } from '../../base/common/tool-notice.js';
import type { Asks } from './asks.js';
import { mayCall, type Principal } from './principal.js';
import type { ToolOutcome } from './tool-outcome.js';

export const toolKinds = ['builtin', 'custom', 'mcp', 'ui'] as const;
export type ToolKind = (typeof toolKinds)[number];

/** The effects of a call on the world; same meaning as MCP's hints. */
export interface ToolAnnotations {
  readonly readOnly: boolean;
  readonly idempotent: boolean;
  readonly destructive: boolean;
  readonly openWorld: boolean;
}

/**
 * The fate of a result that tells of an error under status success: nothing, the finding stands on the execution, or
 * an answer that is itself the report of a failure is marked as a semantic failure besides.
 */
export const semanticErrorModes = ['off', 'show', 'mark'] as const;
export type SemanticErrors = (typeof semanticErrorModes)[number];

/** A tool as its callers see it. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly kind: ToolKind;
  readonly version: string;
  /** JSON Schema (2020-12) of the input, as published. */
  readonly inputSchema: JsonSchema;
  /** JSON Schema of the structured content of its results, where an MCP server promises one. */
  readonly outputSchema?: JsonSchema;
  readonly annotations: ToolAnnotations;
  /** Annotations as an MCP server lists them. */
  readonly hints?: object;
  /** Pictures for people, as an MCP server lists them. */
  readonly icons?: readonly object[];
  /** The `_meta` with which an MCP server lists it, for programs such as those that show its own pages. */
  readonly meta?: object;
  readonly tags: readonly string[];
  /** The tool's own limit for one call in milliseconds. */
  readonly timeoutMs: number;
  /** The value for an LLM to read when the tool fails or is refused. */
  readonly fallback?: unknown;
  /** Calls an investigation may spend on this tool; absent: the configured default; 0: no limit. */
  readonly callsPerInvestigation?: number;
  /** How long a result answers equal calls, in milliseconds; only of a tool that only reads. Absent or 0: never. */
  readonly cacheTtlMs?: number;
  /** How to treat an error inside a successful result; default `show`. */
  readonly semanticErrors?: SemanticErrors;
  /** Limits for its grade that differ from the defaults. */
  readonly thresholds?: Partial<ToolThresholds>;
}

/** Notes of one execution on its way; they become the metric's metadata. All durations in milliseconds. */
export interface ExecutionNotes {
  attempts: number;
  queueMs?: number;
  spawnMs?: number;
  exitCode?: number | null;
  signal?: string | null;
  stderrTail?: string;
  pid?: number;
  /** It failed after it had reached the tool, which may have done its work. */
  resultUnknown?: boolean;
  /** Bytes of the tool's own answer, where it is known without serialising again. */
  outputBytes?: number;
  /** The tool's own answer as it was written, where that is known: read for semantic errors, never stored. */
  outputText?: string | undefined;
  /** How long this result may answer equal calls, in milliseconds, where that is less than the tool's `cacheTtlMs`. */
  ttlMs?: number;
  /** How long a person was asked: this counts neither as the tool's time nor against the deadline. */
  askedMs?: number;
  /** The kind of a question that the caller could not be asked: `form` or `url`. */
  unasked?: string;
  [other: string]: unknown;
}

/** The caller of a call, as the limits of callers see it. */
export type Caller = Pick<ToolRun, 'context' | 'principal'> & { readonly address?: string };

/** The parameters of one execution. */
export interface ToolRun {
  readonly executionId: string;
  readonly context: CallContext;
  readonly principal: Principal;
  readonly deadline: Deadline;
  /** Cancelled when the caller leaves. */
  readonly cancellation: Cancellation;
  /** The call probes a half-open circuit: run it on a fresh process. */
  readonly probe: boolean;
  readonly notes: ExecutionNotes;
  /** Only for a tool that `waitsForProcess`: comes before a process is given the call. @throws ToolFailure if it must not be given */
  readonly begin?: (() => Promise<void>) | undefined;
  /** Receives the tool's notices while it works. */
  readonly onProgress?: NoticeListener | undefined;
  /** How the tool may ask the caller. Absent: not at all. */
  readonly asks?: Asks | undefined;
}

/** Gives something back; calling it twice is harmless. */
export type Release = () => void;

/** Leave to run one call of a tool, which is given before anything is recorded. */
export interface Slot {
  /** Runs the call as the tool's `run` does, on what was reserved for it. */
  run(input: unknown, run: ToolRun): Promise<unknown>;
  readonly release: Release;
}

export const unavailableStates = ['held', 'disabled', 'error'] as const;
/** Why calls of a tool are refused. `held`: its approval is missing; `error`: it cannot be started. */
export interface Unavailability {
  readonly state: (typeof unavailableStates)[number];
  readonly why: string;
}

/** A named capability that the registry knows and the door runs. */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Present while no more than its definition is known: another tool has taken its place when this resolves. */
  load?(): Promise<void>;
  /** Identifies what a call of it runs; absent: the definition's version does. */
  readonly revision?: string;
  /** The part of its executions that is stored beside their records; absent: nothing. */
  readonly capture?: 'failures' | 'all' | undefined;
  /** Takes out of a JSON value what the tool knows to be secret. Absent: nothing. */
  redact?(value: unknown): unknown;
  /**
   * @param bytes of the input's JSON, or somewhat more
   * @param holder whose input waits, in the limits of callers
   * @returns ways in which the input breaks the schema; empty when it is valid; or the valid input that it stands for. A
   *   promise if finding out takes long
   * @throws Refusal if it would take too long
   */
  validate(input: unknown, bytes: number, holder?: string): Verdict | Promise<Verdict>;
  /**
   * Checks the caller further, for a tool that asks for more than leave to call it. The input is valid.
   * @returns why this caller may not call it so; undefined: it may
   */
  refuses?(input: unknown, caller: Principal): string | undefined;
  /** Whether a list shows it to a caller that may call it. Absent: yes. Calls are not refused for it. */
  isListed?(lister: Lister): boolean;
  /** Whether its calls are to be run as tasks, as an MCP server lists it now. */
  taskSupport?(): 'optional' | 'required' | undefined;
  /** Why it cannot be called now, for lists and reports. Absent: it can. */
  unavailable?(): Unavailability | undefined;
  /**
   * Checks what the call needs beyond its input and its caller, such as an open page.
   * @throws Refusal
   */
  admit?(call: Pick<ToolRun, 'context' | 'principal'>): Promise<void>;
  /**
   * Takes a slot of the tool before anything is recorded.
   * @throws Refusal `queue_full` or `tool_unavailable`
   */
  takeSlot?(caller: Caller): Slot;
  /**
   * The cache key of a tool whose results are cached: the JSON value that decides its result beside labels and project. Absent: its
   * input. Asked for every call.
   */
  cacheKey?(input: unknown): unknown;
  /**
   * The value for an LLM to read instead of a result, where it depends on why there is none. Absent: the definition's
   * `fallback`.
   */
  fallback?(reason: string): unknown;
  /** Called when a cached or shared result answers a call that was not run. It must not throw. */
  onReuse?(result: unknown, context: CallContext): void;
  /** The result as the caller of such a call reads it; absent: as it is. It must not throw. */
  asReused?(result: unknown): unknown;
  /** Its `run` awaits `begin` when a process takes the call. Any other tool is given its calls at once. */
  readonly waitsForProcess?: true;
  /**
   * Ends at the deadline and on abort by itself, cleaning up what it started.
   * @returns the result, a JSON value
   * @throws ToolFailure for every expected failure
   */
  run(input: unknown, run: ToolRun): Promise<unknown>;
}

/** The caller of a list, with the page that its calls are to act on. */
export type Lister = Pick<ToolRun, 'principal'> & Pick<CallContext, 'uiSession'>;

/** Whether a list or a search shows the tool. @param isAsked the caller asked for tools of this kind by name */
export const isShown = (tool: Tool, lister: Lister, isAsked = false): boolean =>
  mayCall(lister.principal, tool.definition) && (isAsked || (tool.isListed?.(lister) ?? true));

/** The value for an LLM to read instead of the tool's result; undefined if the tool names nothing. */
export const fallbackOf = (tool: Tool, reason: string): unknown =>
  tool.fallback ? tool.fallback(reason) : tool.definition.fallback;

/** An outcome to be stored: its result is without secrets as well. */
export const keptOutcomeOf = (tool: Tool | undefined, outcome: ToolOutcome): ToolOutcome =>
  tool?.redact && outcome.result !== undefined
    ? { ...outcome, result: tool.redact(outcome.result) }
    : outcome;

/**
 * The caller of a call, and its investigation, run and labels; REST takes it from body and headers, MCP from `_meta`.
 */
export interface CallContext {
  readonly userId: string;
  readonly requestId: string;
  readonly projectId: string;
  readonly sessionId?: string;
  readonly investigationId?: string;
  readonly runId?: string;
  readonly threadId?: string;
  /** The tab of the console that a tool of kind `ui` acts on. */
  readonly uiSession?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/**
 * The limits by which a tool is graded and advised on. Rates are 0 to 1, latencies milliseconds; each limit still belongs to the
 * better grade.
 */
export interface ToolThresholds {
  /** Healthy from here on. */
  readonly successRateHealthy: number;
  /** Degraded from here on, unhealthy below. */
  readonly successRateDegraded: number;
  /** A mean up to here is healthy. */
  readonly latencyHealthyMs: number;
  /** A mean up to here is degraded, unhealthy beyond. */
  readonly latencyDegradedMs: number;
  /** Minimum number of calls for any advice. */
  readonly minCalls: number;
  /** Errors and timeouts in the window from which a break is advised. */
  readonly errorThreshold: number;
  readonly windowMinutes: number;
  /** A call that took this long is slow. */
  readonly slowCallMs: number;
}

/** The thresholds of tools that name no others. */
export const defaultThresholds: ToolThresholds = {
  successRateHealthy: 0.95,
  successRateDegraded: 0.8,
  latencyHealthyMs: 2000,
  latencyDegradedMs: 5000,
  minCalls: 5,
  errorThreshold: 5,
  windowMinutes: 5,
  slowCallMs: 5000,
};
