/** One page of a list, in the envelope that vLLora's clients know. */
export interface Listed<T> {
  readonly data: T[];
  readonly pagination: { readonly offset: number; readonly limit: number; readonly total: number };
}

/** A span as it is read; times in microseconds since 1970, costs in US dollars. */
export interface SpanRead {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly thread_id: string | null;
  readonly run_id: string;
  readonly operation_name: string;
  readonly kind: string;
  readonly status: string;
  readonly error_message: string | null;
  readonly start_time_us: number;
  readonly finish_time_us: number;
  readonly duration_ms: number;
  readonly model: string | null;
  readonly tool_name: string | null;
  readonly label: string | null;
  readonly cost: number | null;
  readonly cost_source: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly ttft_ms: number | null;
  readonly execution_id: string | null;
  readonly key_id: string | null;
  readonly semantic_pattern: string | null;
  readonly semantic_severity: string | null;
  /** The raw attributes; absent where they were not asked for. */
  readonly attribute?: Readonly<Record<string, unknown>>;
}

/** The kind of thing that has an id, and the first span that has it. */
export interface FoundId {
  readonly kind: 'trace' | 'run' | 'thread' | 'span';
  readonly trace_id: string;
  readonly run_id: string;
  readonly thread_id: string | null;
  readonly span_id: string;
  readonly operation_name: string;
  readonly start_time_us: number;
}

/** The figures of a run, a thread or a span of time. */
export interface GroupRow {
  /** The run, the thread, or the start of the span of time in microseconds (as text). */
  readonly key: string;
  readonly thread_ids: string[];
  readonly trace_ids: string[];
  readonly run_ids: string[];
  readonly root_span_ids: string[] | null;
  readonly request_models: string[];
  readonly used_models: string[];
  readonly used_tools: string[];
  readonly llm_calls: number;
  readonly cost: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly start_time_us: number;
  readonly finish_time_us: number;
  readonly duration_ms: number;
  readonly total_spans: number;
  readonly has_errors: boolean;
  readonly status: string;
  readonly errors: string[];
}

/** Figures of a span of time, or of a whole period. */
export interface FiguresRow {
  /** Microseconds since 1970; null: the whole period. */
  readonly bucket: number | null;
  readonly spans: number;
  readonly calls: number;
  readonly errors: number;
  readonly cost: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}
