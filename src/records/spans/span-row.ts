import type { SpanFinding } from '../../base/semantic-errors/find-semantic-error.js';

/** What a span describes: a model call, a tool call, an agent, a step around others, or something else. */
export const spanKinds = ['llm', 'tool', 'agent', 'chain', 'other'] as const;
export type SpanKind = (typeof spanKinds)[number];

/** The part of a model call that a span describes: `whole`, or one of two spans with different figures (see `kindNames`). */
export type CallPart = 'whole' | 'outer' | 'inner';

/** A tool call that a model requested. */
export interface ToolCalled {
  readonly name: string;
  /** Hash of the arguments, comparable with `argumentsHash` of a tool's span; null without arguments. */
  readonly hash: string | null;
}

/** A message with the role `tool` that reports a failure. */
export interface ToolMessageError {
  readonly tool_name?: string;
  readonly tool_call_id?: string;
  readonly message: string;
}

/** A stored span. Absent values are null, times are in microseconds since the epoch, costs in US dollars. */
export interface SpanRow {
  readonly project: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly threadId: string | null;
  readonly runId: string;
  readonly operation: string;
  readonly kind: SpanKind;
  readonly callPart: CallPart | null;
  readonly startUs: number;
  readonly finishUs: number;
  readonly status: 'success' | 'error';
  readonly errorMessage: string | null;
  readonly model: string | null;
  readonly requestModel: string | null;
  readonly toolName: string | null;
  readonly label: string | null;
  readonly cost: number | null;
  readonly costSource: 'reported' | 'computed' | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly ttftUs: number | null;
  readonly argumentsHash: string | null;
  readonly toolCalls: readonly ToolCalled[] | null;
  readonly toolErrors: readonly ToolMessageError[] | null;
  readonly keyId: string | null;
  /** The agent whose access token sent the span. */
  readonly clientId: string | null;
  readonly executionId: string | null;
  readonly semanticPattern: string | null;
  readonly semanticSeverity: SpanFinding['severity'] | null;
  readonly semanticSource: SpanFinding['source'] | null;
  readonly semanticSnippet: string | null;
  /** The tool call whose result has the finding. */
  readonly semanticCallId: string | null;
  /** The attributes that were sent, as JSON of an object that a column of type jsonb accepts. */
  readonly attributes: string;
}

/** The day (UTC) that a span belongs to by its start, as in `2026-01-23`. */
export const startDayOf = ({ startUs }: Pick<SpanRow, 'startUs'>): string =>
  new Date(startUs / 1_000).toISOString().slice(0, 10);

/** Operations of vLLora that are not the call of the model itself, even if their kind is `llm`. */
const otherOperations = new Set(['cloud_api_invoke', 'model_call', 'tool_call', 'tools', 'run', 'agent']);

/** Whether an experiment can repeat a span's request with changes: it must be the call of the model itself. */
export const isOptimizable = (span: { readonly kind: string; readonly operation_name: string }): boolean =>
  span.kind === 'llm' &&
  span.operation_name !== '' &&
  !otherOperations.has(span.operation_name) &&
  !span.operation_name.startsWith('guard_');
