import type { SpansSummary } from './summary.js';

/** A figure of two summaries; percent with one decimal. */
export interface Difference {
  readonly a: number;
  readonly b: number;
  /** From a to b. */
  readonly change: number;
  /** Null where a is 0. */
  readonly change_percent: number | null;
}

export interface Comparison {
  readonly a: SpansSummary;
  readonly b: SpansSummary;
  readonly differences: Record<string, Difference>;
}

export function comparisonOf(a: SpansSummary, b: SpansSummary): Comparison {
  const after = figuresOf(b);
  const pairs = Object.entries(figuresOf(a)).map(
    ([name, before]) => [name, differenceOf(before, after[name] ?? 0)] as const,
  );
  return { a, b, differences: Object.fromEntries(pairs) };
}

function figuresOf({ summary, latency }: SpansSummary): Record<string, number> {
  return {
    total_spans: summary.total_spans,
    errors: summary.by_status.error,
    total_duration_ms: summary.total_duration_ms,
    total_cost: summary.total_cost,
    total_input_tokens: summary.total_input_tokens,
    total_output_tokens: summary.total_output_tokens,
    total_cached_tokens: summary.total_cached_tokens,
    cache_hit_rate: summary.cache_hit_rate,
    ...latency,
  };
}

/** More digits than a cost has are the arithmetic's. */
function differenceOf(a: number, b: number): Difference {
  const change = Number((b - a).toFixed(6));
  return { a, b, change, change_percent: a === 0 ? null : Math.round((change / a) * 1_000) / 10 };
}
