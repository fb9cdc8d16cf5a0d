import { type OutcomeCode, errorTable } from '../../base/common/errors.js';

/** Status of an execution that has ended. */
export type OutcomeStatus = 'success' | 'error' | 'timeout';

/** Why an execution failed. */
export interface ToolErrorBody {
  /** JSON-RPC code: the tool's own if it answered, or else that of the error table. */
  readonly code: number;
  readonly type: OutcomeCode;
  readonly message: string;
  readonly data?: unknown;
}

/** Members of all outcomes. */
interface OutcomeBase {
  readonly executionId: string;
  readonly tool: string;
  readonly executionTimeMs: number;
  readonly attempts: number;
  readonly cached: boolean;
}

/** The answer of an execution that ran. A failed one carries the tool's fallback, if any, in `result`. */
export type ToolOutcome =
  | (OutcomeBase & { readonly status: 'success'; readonly result: unknown })
  | (OutcomeBase & {
      readonly status: 'error' | 'timeout';
      readonly error: ToolErrorBody;
      readonly result?: unknown;
    });

/** The outcome of a failed call, with the tool's fallback, if any, as the result. */
export function failedOutcome(
  base: Pick<OutcomeBase, 'executionId' | 'tool'> & Partial<Omit<OutcomeBase, 'cached'>>,
  failure: Omit<ToolErrorBody, 'code'> & { readonly code?: number },
  fallback?: unknown,
): ToolOutcome {
  const { type, message, code = errorTable[type].jsonRpc, data } = failure;
  return {
    executionId: base.executionId,
    tool: base.tool,
    executionTimeMs: base.executionTimeMs ?? 0,
    attempts: base.attempts ?? 1,
    cached: false,
    status: type === 'timeout' ? 'timeout' : 'error',
    error: { code, type, message, ...(data !== undefined && { data }) },
    ...(fallback !== undefined && { result: fallback }),
  };
}

/** Thrown by a tool's `run` for every expected failure. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  readonly code: number;
  readonly data: unknown;
  /** A sentence for callers with `tools:admin` only, such as the end of the tool's stderr. */
  readonly aside: string | undefined;
  /** Whether it counts against the tool's circuit. */
  readonly isToolFault: boolean;

  constructor(
    readonly type: OutcomeCode,
    message: string,
    { code = errorTable[type].jsonRpc, data, isToolFault, aside }: ToolFailureOptions = {},
  ) {
    super(message);
    this.code = code;
    this.data = data;
    this.aside = aside;
    this.isToolFault = isToolFault ?? countsAgainstTool({ type, code });
  }
}

interface ToolFailureOptions {
  readonly code?: number;
  readonly data?: unknown;
  readonly aside?: string | undefined;
  /** false if it is not the tool's fault although its type says so, for example a timeout before a process got the call. */
  readonly isToolFault?: boolean;
}

const notTheToolsFault: ReadonlySet<OutcomeCode> = new Set([
  'cancelled',
  'interrupted',
  'upstream_unavailable',
]);

/**
 * Whether a failure counts against the tool's circuit. An answer of -32602 ("Invalid params") is the caller's error.
 * Cancelled and interrupted calls, and those without their upstream, are not the tool's fault.
 */
function countsAgainstTool(error: { readonly type: OutcomeCode; readonly code: number }): boolean {
  if (notTheToolsFault.has(error.type)) return false;
  return !(error.type === 'tool_error' && error.code === errorTable.invalid_input.jsonRpc);
}
