import type { SpanFinding } from '../../base/semantic-errors/find-semantic-error.js';

export const spanKinds = ['llm', 'tool', 'agent', 'chain', 'other'] as const;
export type SpanKind = (typeof spanKinds)[number];

/** The part of a model call that a span covers, if the call has two spans (see the table `spans`). */
export type CallPart = 'whole' | 'outer' | 'inner';

/** A tool that a model asked for. */
export interface ToolCalled {
  readonly name: string;
  /** Hash of its arguments, as `argumentsHash` makes it; null without any. */
  readonly hash: string | null;
}

/** A message with the role `tool` that reports a failure. */
export interface ToolMessageError {
  readonly tool_name?: string;
  readonly tool_call_id?: string;
  readonly message: string;
}

/**
 * A span as the store has it: in the journal as JSON, in the table `spans` by these columns. Absent values are null;
 * times in microseconds since the epoch, costs in US dollars.
 */
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
  /** The agent whose access token it came with. */
  readonly clientId: string | null;
  readonly executionId: string | null;
  readonly semanticPattern: string | null;
  readonly semanticSeverity: SpanFinding['severity'] | null;
  readonly semanticSource: SpanFinding['source'] | null;
  readonly semanticSnippet: string | null;
  /** The tool call in whose result the finding stands. */
  readonly semanticCallId: string | null;
  /** The raw attributes, an object as JSON that jsonb takes. */
  readonly attributes: string;
}

/** The day (UTC) that a span belongs to by its start, as in `2026-01-23`. */
export const startDayOf = ({ startUs }: Pick<SpanRow, 'startUs'>): string =>
  new Date(startUs / 1_000).toISOString().slice(0, 10);

/** Spans around a model call, or of something else, whatever their kind says. */
const notTheCall = new Set(['cloud_api_invoke', 'model_call', 'tool_call', 'tools', 'run', 'agent']);

/** Whether a span's request may be tried again with changes: it is the call of a model itself. */
export const isOptimizable = (span: { readonly kind: string; readonly operation_name: string }): boolean =>
  span.kind === 'llm' &&
  span.operation_name !== '' &&
  !notTheCall.has(span.operation_name) &&
  !span.operation_name.startsWith('guard_');
