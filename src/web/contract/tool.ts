import type { Cancellation } from '../../base/common/cancellation.js';
import type { Deadline } from '../../base/common/deadline.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import type { Verdict } from '../../base/schemas/schema-repair.js';
import type { NoticeListener } from '../../base/common/tool-notice.js';
import type { Asks } from './asks.js';
import { mayCall, type Principal } from './principal.js';
import type { ToolOutcome } from './tool-outcome.js';

/** Where tools come from; `ui` tools act on a page of the console. */
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
 * How to treat a successful result that reports an error. `off`: ignore it. `show`: store the finding with the execution.
 * `mark`: also mark the execution as a semantic failure if the whole answer is a report of a failure.
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
  /** JSON Schema of the structured content of its results, if its MCP server lists one. */
  readonly outputSchema?: JsonSchema;
  readonly annotations: ToolAnnotations;
  /** Annotations as an MCP server lists them. */
  readonly hints?: object;
  /** Pictures for people, as an MCP server lists them. */
  readonly icons?: readonly object[];
  /** The `_meta` with which an MCP server lists it, for example for clients that show its pages. */
  readonly meta?: object;
  readonly tags: readonly string[];
  /** The tool's own limit for one call in milliseconds. */
  readonly timeoutMs: number;
  /** Value for the LLM if the tool fails or the call is refused. */
  readonly fallback?: unknown;
  /** Max calls of this tool per investigation. Absent: the configured default; 0: no limit. */
  readonly callsPerInvestigation?: number;
  /** How long a result answers equal calls, in milliseconds, if the tool only reads. Absent or 0: not cached. */
  readonly cacheTtlMs?: number;
  /** How to treat an error inside a successful result; default `show`. */
  readonly semanticErrors?: SemanticErrors;
  /** Limits for its grade that differ from the defaults. */
  readonly thresholds?: Partial<ToolThresholds>;
}

/** Notes that are taken during an execution and become its metadata. All durations in milliseconds. */
export interface ExecutionNotes {
  attempts: number;
  queueMs?: number;
  spawnMs?: number;
  exitCode?: number | null;
  signal?: string | null;
  stderrTail?: string;
  pid?: number;
  /** The call failed after it had reached the tool, which may have done its work. */
  resultUnknown?: boolean;
  /** Bytes of the tool's own answer, if known without serialising it again. */
  outputBytes?: number;
  /** Text of the tool's own answer, if known. It is searched for semantic errors and never stored. */
  outputText?: string | undefined;
  /** How long this result may answer equal calls, in milliseconds, if less than the tool's `cacheTtlMs`. */
  ttlMs?: number;
  /** Time for which a person was asked. It counts neither as the tool's time nor against the deadline. */
  askedMs?: number;
  /** Kind of a question that the caller could not be asked: `form` or `url`. */
  unasked?: string;
  [other: string]: unknown;
}

/** The caller of a call, for limits per caller. */
export type Caller = Pick<ToolRun, 'context' | 'principal'> & { readonly address?: string };

/** The parameters of one execution. */
export interface ToolRun {
  readonly executionId: string;
  readonly context: CallContext;
  readonly principal: Principal;
  readonly deadline: Deadline;
  /** Cancelled when the caller disconnects. */
  readonly cancellation: Cancellation;
  /** The call probes a half-open circuit: run it on a fresh process. */
  readonly probe: boolean;
  readonly notes: ExecutionNotes;
  /** Awaited before a process gets the call, by a tool that `waitsForProcess`. @throws ToolFailure if it must not get it */
  readonly begin?: (() => Promise<void>) | undefined;
  /** Receives the tool's progress and logs while it works. */
  readonly onProgress?: NoticeListener | undefined;
  /** Lets the tool ask the caller. Absent if the caller cannot be asked. */
  readonly asks?: Asks | undefined;
}

/** Releases something; a second call has no effect. */
export type Release = () => void;

/** A reserved place for one call of a tool, which is taken before anything is recorded. */
export interface Slot {
  /** Runs the call like the tool's `run`, with the reserved resources. */
  run(input: unknown, run: ToolRun): Promise<unknown>;
  readonly release: Release;
}

/** Reasons for a tool to be unavailable. `held`: its approval is missing; `error`: it cannot be started. */
export const unavailableStates = ['held', 'disabled', 'error'] as const;
/** Why calls of a tool are refused. */
export interface Unavailability {
  readonly state: (typeof unavailableStates)[number];
  readonly why: string;
}

/** A tool that the registry lists and the door runs. */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Loads the tool, of which only the definition is known so far. When it resolves, the loaded tool is registered instead. */
  load?(): Promise<void>;
  /** Identifies the code and settings that a call runs. Absent: the definition's version does. */
  readonly revision?: string;
  /** Executions whose input and answer are stored. Absent: none. */
  readonly capture?: 'failures' | 'all' | undefined;
  /** Replaces the tool's secrets in a JSON value. Absent: it has none. */
  redact?(value: unknown): unknown;
  /**
   * Checks an input.
   * @param bytes size of the input's JSON, or somewhat more
   * @param holder id of the caller, for limits per caller
   * @returns the problems of the input, an empty list if it is valid, or a repaired input; a promise if the check takes long
   * @throws Refusal if the check would take too long
   */
  validate(input: unknown, bytes: number, holder?: string): Verdict | Promise<Verdict>;
  /** Why a caller may not call the tool with this valid input; undefined if it may. Absent: no input is refused to a caller. */
  refuses?(input: unknown, caller: Principal): string | undefined;
  /** Whether lists contain it for a caller that may call it. Absent: yes. Calls are not affected. */
  isListed?(lister: Lister): boolean;
  /** Whether its calls may or must run as tasks, as its MCP server lists it now. */
  taskSupport?(): 'optional' | 'required' | undefined;
  /** Why it cannot be called now, for lists and reports. Absent: it can be called. */
  unavailable?(): Unavailability | undefined;
  /** Checks further needs of a call, such as an open page. @throws Refusal */
  admit?(call: Pick<ToolRun, 'context' | 'principal'>): Promise<void>;
  /** Takes a slot of the tool. @throws Refusal `queue_full` or `tool_unavailable` */
  takeSlot?(caller: Caller): Slot;
  /** The JSON value that decides a cached result, beside labels and project. Absent: the input. Called for each call. */
  cacheKey?(input: unknown): unknown;
  /** Value for the LLM in place of a result, by the reason of the failure. Absent: the definition's `fallback`. */
  fallback?(reason: string): unknown;
  /** Called when a cached or shared result answers a call that was not run. It must not throw. */
  onReuse?(result: unknown, context: CallContext): void;
  /** Changes the result for the caller of a call that was not run. Absent: unchanged. It must not throw. */
  asReused?(result: unknown): unknown;
  /** Its `run` awaits `begin` when a process takes the call. Other tools get their calls at once. */
  readonly waitsForProcess?: true;
  /**
   * Runs a call. Ends by itself at the deadline and on cancellation, and cleans up.
   * @returns the result, a JSON value
   * @throws ToolFailure for every expected failure
   */
  run(input: unknown, run: ToolRun): Promise<unknown>;
}

/** The caller of a list, with the console page on which its calls act. */
export type Lister = Pick<ToolRun, 'principal'> & Pick<CallContext, 'uiSession'>;

/** Whether a list or a search shows the tool. @param isAsked the caller asked for tools of this kind */
export const isShown = (tool: Tool, lister: Lister, isAsked = false): boolean =>
  mayCall(lister.principal, tool.definition) && (isAsked || (tool.isListed?.(lister) ?? true));

/** Value for the LLM in place of the tool's result; undefined if the tool has none. */
export const fallbackOf = (tool: Tool, reason: string): unknown =>
  tool.fallback ? tool.fallback(reason) : tool.definition.fallback;

/** The outcome without secrets in its result, for storage. */
export const keptOutcomeOf = (tool: Tool | undefined, outcome: ToolOutcome): ToolOutcome =>
  tool?.redact && outcome.result !== undefined
    ? { ...outcome, result: tool.redact(outcome.result) }
    : outcome;

/** The user, investigation, run and labels of a call. REST reads them from body and headers, MCP from `_meta`. */
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

/** Limits of a tool's grades. Rates are 0 to 1, latencies milliseconds; a figure at its limit gets the better grade. */
export interface ToolThresholds {
  /** Min rate of a healthy tool. */
  readonly successRateHealthy: number;
  /** Min rate of a degraded tool; below, it is unhealthy. */
  readonly successRateDegraded: number;
  /** Max mean latency of a healthy tool. */
  readonly latencyHealthyMs: number;
  /** Max mean latency of a degraded tool; beyond, it is unhealthy. */
  readonly latencyDegradedMs: number;
  /** Min calls for a grade. */
  readonly minCalls: number;
  /** Min errors and timeouts in the window that open the circuit. */
  readonly errorThreshold: number;
  /** Length of the window. */
  readonly windowMinutes: number;
  /** Min duration of a slow call. */
  readonly slowCallMs: number;
}

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
