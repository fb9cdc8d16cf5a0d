/** A row of `selectSummary`. */
export interface SummaryRow {
  readonly section: string;
  /** Position of the entry in its section, from 1. */
  readonly place: number;
  /** Number of all entries of the section, shown or not. */
  readonly total: number;
  /** The entry. */
  readonly item: Readonly<Record<string, unknown>>;
}

/** The entry of the section `totals`. Percentiles are p50, p95 and p99; null without model calls. */
interface Totals {
  readonly spans: number;
  readonly errors: number;
  readonly duration_ms: number;
  readonly cost: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  readonly latency: readonly [number, number, number] | null;
  readonly max_latency: number | null;
  readonly ttft: readonly [number, number, number] | null;
  readonly avg_ttft: number | null;
}

/** The figures of all spans in a summary. */
interface SummaryFigures {
  readonly total_spans: number;
  readonly by_operation: Readonly<Record<string, number>>;
  readonly by_status: { readonly success: number; readonly error: number };
  readonly total_duration_ms: number;
  readonly total_cost: number;
  readonly total_input_tokens: number;
  readonly total_output_tokens: number;
  readonly total_cached_tokens: number;
  /** Percentage of the input that was cached. */
  readonly cache_hit_rate: number;
  readonly [names: string]: unknown;
}

/** A summary of spans (docs/agents/traces.md). The names of members are those that agents know from vLLora. */
export interface SpansSummary {
  readonly summary: SummaryFigures;
  readonly latency: {
    readonly p50_ms: number;
    readonly p95_ms: number;
    readonly p99_ms: number;
    readonly max_ms: number;
  };
  readonly [section: string]: unknown;
}

/** Lists that a summary has only if they have entries. */
const optionalLists = ['model_breakdown', 'tool_usage', 'repeated_failures', 'tool_call_errors'] as const;
/** Lists that a summary always has. */
const lists = ['error_spans', 'semantic_error_spans', 'repeated_calls', 'error_groups'] as const;
/** Lists of the first few spans in an order. They have no total, because it would be the number of all spans. */
const rankings = ['slowest_spans', 'expensive_spans'] as const;

/** Makes a summary of the rows of `selectSummary`. */
export function summaryOf(rows: readonly SummaryRow[]): SpansSummary {
  const sections = Map.groupBy(rows, ({ section }) => section);
  const itemsOf = (section: string): SummaryRow['item'][] =>
    (sections.get(section) ?? []).toSorted((a, b) => a.place - b.place).map(({ item }) => item);
  const listOf = (section: string): object => ({
    [section]: itemsOf(section),
    [`${section}_total`]: sections.get(section)?.[0]?.total ?? 0,
  });
  const nameList = (section: string): object => ({
    ...listOf(section),
    [section]: itemsOf(section).map(({ name }) => name),
  });
  // The statement always returns one row of totals.
  const totals = itemsOf('totals')[0] as unknown as Totals;
  const [p50_ms, p95_ms, p99_ms] = totals.latency ?? [0, 0, 0];
  const parts: readonly (object | null | undefined)[] = [
    {
      summary: {
        total_spans: totals.spans,
        by_operation: byOperation(itemsOf('by_operation'), totals.spans),
        by_status: { success: totals.spans - totals.errors, error: totals.errors },
        total_duration_ms: totals.duration_ms,
        total_cost: totals.cost,
        total_input_tokens: totals.input_tokens,
        total_output_tokens: totals.output_tokens,
        total_cached_tokens: totals.cached_tokens,
        cache_hit_rate: percentOf(totals.cached_tokens, totals.input_tokens),
        ...nameList('models_used'),
        ...nameList('labels_found'),
        latency_percentiles: { p50: p50_ms, p95: p95_ms, p99: p99_ms },
      },
      latency: { p50_ms, p95_ms, p99_ms, max_ms: totals.max_latency ?? 0 },
    },
    totals.ttft && { ttft: { p50_ms: totals.ttft[0], p95_ms: totals.ttft[1], avg_ms: totals.avg_ttft } },
    ...optionalLists.filter((section) => sections.has(section)).map(listOf),
    ...lists.map(listOf),
    ...rankings.map((section) => ({ [section]: itemsOf(section) })),
  ];
  return Object.assign({}, ...parts) as SpansSummary;
}

/** Numbers of spans by operation: the most frequent ones by name, all others together as `_other`. */
function byOperation(items: readonly SummaryRow['item'][], spans: number): Record<string, number> {
  const counts = items.map(({ name, count }): [string, number] => [String(name), Number(count)]);
  const others = counts.reduce((rest, [, count]) => rest - count, spans);
  return Object.fromEntries([...counts, ...(others > 0 ? [['_other', others] as const] : [])]);
}

const percentOf = (part: number, whole: number): number => (whole > 0 ? Math.round((part / whole) * 100) : 0);

/** Two summaries and the differences of their figures. */
export function comparisonOf(a: SpansSummary, b: SpansSummary) {
  const after = figuresOf(b);
  const pairs = Object.entries(figuresOf(a)).map(
    ([name, before]) => [name, differenceOf(before, after[name] ?? 0)] as const,
  );
  return { a, b, differences: Object.fromEntries(pairs) };
}

/** The figures that are compared. */
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

/** A figure before and after. Rounded, because further digits come from floating-point arithmetic; percent to one decimal. */
function differenceOf(a: number, b: number) {
  const change = Number((b - a).toFixed(6));
  return { a, b, change, change_percent: a === 0 ? null : Math.round((change / a) * 1_000) / 10 };
}
