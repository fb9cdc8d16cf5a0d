/** One row of the error table: how a code reads over HTTP and JSON-RPC. */
export interface ErrorEntry {
  /** HTTP status; 200 for the outcome of an execution that ran. */
  readonly http: number;
  readonly jsonRpc: number;
  readonly title: string;
}

/** All error codes. docs/agents/errors.md has the same rows; a test compares them. */
export const errorTable = {
  tool_not_found: { http: 404, jsonRpc: -32601, title: 'No such tool, or it is disabled' },
  invalid_input: { http: 422, jsonRpc: -32602, title: "The input breaks the tool's schema" },
  unauthorized: { http: 401, jsonRpc: -32600, title: 'An API key is needed' },
  forbidden: { http: 403, jsonRpc: -32600, title: 'This caller may not do that' },
  payload_too_large: { http: 413, jsonRpc: -32600, title: 'The input is over its cap' },
  circuit_open: { http: 503, jsonRpc: -32603, title: 'The tool is failing and cut off for now' },
  queue_full: { http: 429, jsonRpc: -32603, title: "The tool's queue is full" },
  investigation_budget_spent: { http: 429, jsonRpc: -32603, title: 'No calls left for this investigation' },
  recorder_full: { http: 503, jsonRpc: -32603, title: 'The record of the call cannot be promised' },
  spans_full: { http: 503, jsonRpc: -32603, title: 'No more spans can be taken for now' },
  shutting_down: { http: 503, jsonRpc: -32603, title: 'The server is stopping' },
  tool_unavailable: { http: 503, jsonRpc: -32603, title: 'The tool cannot be started' },
  database_unavailable: { http: 503, jsonRpc: -32603, title: 'The database does not answer' },
  rate_limited: { http: 429, jsonRpc: -32603, title: 'Too many requests' },
  invalid_request: { http: 400, jsonRpc: -32600, title: 'The request is not valid' },
  not_found: { http: 404, jsonRpc: -32600, title: 'No such resource' },
  conflict: { http: 409, jsonRpc: -32600, title: 'It conflicts with what is there now' },
  ui_not_connected: { http: 409, jsonRpc: -32603, title: 'No page of the console is open for this call' },
  ui_not_available: { http: 409, jsonRpc: -32603, title: 'The open page does not offer this' },
  ui_not_granted: { http: 409, jsonRpc: -32603, title: 'The user has not let this key act on the page' },
  approval_required: { http: 409, jsonRpc: -32603, title: 'A person must agree to this call first' },
  authorization_required: {
    http: 409,
    jsonRpc: -32603,
    title: 'The caller must sign in to the MCP server first',
  },
  idempotency_key_reused: { http: 422, jsonRpc: -32600, title: 'The key was used with other input' },
  internal_error: { http: 500, jsonRpc: -32603, title: 'Internal error' },
  timeout: { http: 200, jsonRpc: -32000, title: 'The deadline passed' },
  tool_error: { http: 200, jsonRpc: -32001, title: 'The tool answered with an error' },
  tool_crashed: { http: 200, jsonRpc: -32603, title: 'The tool ended during the call' },
  protocol_error: { http: 200, jsonRpc: -32603, title: 'The tool broke the protocol' },
  output_too_large: { http: 200, jsonRpc: -32603, title: "The tool's output is over its cap" },
  spawn_failed: { http: 200, jsonRpc: -32603, title: 'The tool could not be started' },
  sandbox_violation: { http: 200, jsonRpc: -32603, title: 'The tool left its sandbox' },
  cancelled: { http: 200, jsonRpc: -32603, title: 'The caller left' },
  interrupted: { http: 200, jsonRpc: -32603, title: 'The gateway died during the call' },
  capability_missing: {
    http: 200,
    jsonRpc: -32021,
    title: 'The tool must ask a person, and its caller cannot be asked',
  },
  upstream_unavailable: { http: 200, jsonRpc: -32603, title: 'What the tool depends on is down' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

/** Codes of calls that ran and failed. Only outcomes have them, not problems. */
export type OutcomeCode = {
  [C in ErrorCode]: (typeof errorTable)[C]['http'] extends 200 ? C : never;
}[ErrorCode];

/** Codes that answer as application/problem+json. */
export type ProblemCode = Exclude<ErrorCode, OutcomeCode>;

/** The problem of one field: a JSON pointer into the body (or input) and a sentence. */
export interface FieldProblem {
  readonly pointer: string;
  readonly detail: string;
}

/** Optional parts of a problem. */
export interface ProblemDetails {
  readonly errors?: readonly FieldProblem[];
  /** Milliseconds after which a retry makes sense; becomes Retry-After in whole seconds. */
  readonly retryAfterMs?: number;
  /** Whether another replica may succeed at once. */
  readonly retryElsewhere?: boolean;
  /** Text or value that an LLM reads instead of the tool's result. */
  readonly fallback?: unknown;
  /** The page on which the caller signs in: valid once, for ten minutes. */
  readonly signInUrl?: string;
  /** Further response headers, such as RateLimit-Remaining. */
  readonly headers?: Readonly<Record<string, string>>;
  /** HTTP status if it differs from the table's (405, 406, 415). */
  readonly status?: number;
}

/** An expected failure of a request, answered as RFC 9457 problem+json. */
export class Problem extends Error {
  override readonly name: string = 'Problem';

  constructor(
    readonly code: ProblemCode,
    /** One sentence for the person who reads the answer. */
    readonly detail: string,
    readonly details: ProblemDetails = {},
  ) {
    super(detail);
  }
}

/** The Problem `invalid_request` with a sentence that names all invalid fields. */
export function invalidRequest(...errors: readonly FieldProblem[]): Problem {
  const sentences = errors.map(({ pointer, detail }) => `${pointer.slice(1) || 'The body'} ${detail}`);
  return new Problem('invalid_request', sentences.join('; '), { errors });
}

/** A call that was not run. The door releases its slot and returns its budget. */
export class Refusal extends Problem {
  override readonly name = 'Refusal';
}

/** The database did not answer, or not in time. The message is for the log. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
}

/** SQLSTATEs of lost or refused connections, full or stopped servers, timeouts and wrong credentials; network codes. */
const awayCodes = /^(08...|28...|53...|57P0.|57014|25P03|3D000|E[A-Z_]+)$/;
/** Messages of the driver, which have no code, and of TypeORM if the connection breaks within a transaction. */
const awayMessages = /connection.*(timeout|terminated|error)|timeout|not queryable/i;

/** Whether an error means that the database did not answer; false for its own errors, such as a broken constraint. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === 'QueryRunnerAlreadyReleasedError') return true;
  const { driverError } = error as { driverError?: { code?: string; message: string } };
  if (driverError === undefined) return false;
  return driverError.code ? awayCodes.test(driverError.code) : awayMessages.test(driverError.message);
}
