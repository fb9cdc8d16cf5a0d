import { durationMs } from './span-filter.sql.js';

/** Max levels below a span that are searched for other spans of the same model call. */
const maxLevels = 64;

const hasTokens = (span: string): string =>
  `(${span}.input_tokens IS NOT NULL OR ${span}.output_tokens IS NOT NULL)`;

/** Whether a span describes a model call or has its usage. */
const hasUsage = (span: string): string =>
  `(${span}.call_part IS NOT NULL OR ${span}.cost IS NOT NULL OR ${hasTokens(span)})`;

/**
 * The spans that meet a condition, as the CTE `counted`, with figures that count each model call once. Several spans may report
 * one call:
 * - A span around others repeats their usage. It loses each figure that a span below it has, too.
 * - vLLora sends a pair of spans: the outer one has cost, latency and texts, the inner one the tokens. The inner one loses the
 *   call and its cost, the outer one the tokens.
 *
 * `counted` has these columns besides those of `all_spans`:
 * - `is_call`: whether the span counts as a model call
 * - `call_model`: the model that answered, else the requested one
 * - `call_cost`, `call_input`, `call_output`, `call_cached`: what the span adds to sums; null if another span adds it
 * - `is_text`: whether its findings and tool calls count; false if another span has the same texts
 * - `duration_ms`
 * @param within searches spans below others only in the same run or thread, so that the figures of a group do not depend on
 *   which other groups are selected
 * @returns text that follows `WITH RECURSIVE`
 */
export function billableSpans(condition: string, within?: 'run_id' | 'thread_id'): string {
  const inSameGroup = within ? `AND child.${within} = below.${within}` : '';
  return `
    chosen AS MATERIALIZED (
      SELECT trace_id, span_id, parent_span_id, thread_id, run_id, operation, kind, call_part, start_us, finish_us, status,
             error_message, model, request_model, tool_name, label, cost, input_tokens, output_tokens, cached_tokens,
             ttft_us, arguments_hash, tool_calls, tool_errors, semantic_pattern, semantic_severity, semantic_source,
             semantic_snippet, semantic_call_id, ${durationMs} AS duration_ms
      FROM all_spans
      WHERE ${condition}
    ), below AS (
      -- Each span with usage (top), and all spans below it.
      SELECT trace_id, span_id AS top, span_id, run_id, thread_id, call_part IS NOT DISTINCT FROM 'outer' AS top_is_outer,
             call_part IS NOT NULL AS top_is_call, cost IS NOT NULL AS top_has_cost, ${hasTokens('chosen')} AS top_has_tokens,
             coalesce(model, request_model) AS top_model, 0 AS level
      FROM chosen
      WHERE ${hasUsage('chosen')}
      UNION
      SELECT child.trace_id, top, child.span_id, child.run_id, child.thread_id, top_is_outer, top_is_call, top_has_cost,
             top_has_tokens, top_model, level + 1
      FROM below JOIN chosen AS child ON child.trace_id = below.trace_id AND child.parent_span_id = below.span_id
        ${inSameGroup}
      WHERE level < ${maxLevels}
    ), double_reports AS (
      -- Those of them that have usage, too, and which figures both have. A pair is an outer span and one of its inner spans.
      SELECT below.trace_id, top, below.span_id, top_model, model, top_is_outer AND call_part IS DISTINCT FROM 'outer' AS is_pair,
             top_is_call AND call_part IS NOT NULL AS both_call, top_has_cost AND cost IS NOT NULL AS both_cost,
             top_has_tokens AND ${hasTokens('low')} AS both_tokens
      FROM below JOIN chosen AS low USING (trace_id, span_id)
      WHERE level > 0 AND below.span_id <> top AND ${hasUsage('low')}
    ), losses AS (
      -- The figures that a span loses.
      SELECT trace_id, span_id, bool_or(call) AS loses_call, bool_or(cost) AS loses_cost, bool_or(tokens) AS loses_tokens,
             min(pair_model COLLATE "C") AS pair_model
      FROM (
        SELECT trace_id, top AS span_id, both_call AND NOT is_pair AS call, both_cost AND NOT is_pair AS cost,
               both_tokens AS tokens, CASE WHEN is_pair THEN model END AS pair_model
        FROM double_reports
        UNION ALL
        SELECT trace_id, span_id, both_call, both_cost, false, coalesce(model, top_model) FROM double_reports WHERE is_pair
      ) AS each_report
      GROUP BY trace_id, span_id
    ), counted AS (
      SELECT chosen.*, call_part IS NOT NULL AND loses_call IS NOT TRUE AS is_call,
             call_part IS NULL OR loses_call IS NOT TRUE AS is_text, coalesce(pair_model, model, request_model) AS call_model,
             CASE WHEN loses_cost IS NOT TRUE THEN cost END AS call_cost,
             CASE WHEN loses_tokens IS NOT TRUE THEN input_tokens END AS call_input,
             CASE WHEN loses_tokens IS NOT TRUE THEN output_tokens END AS call_output,
             CASE WHEN loses_tokens IS NOT TRUE THEN cached_tokens END AS call_cached
      FROM chosen LEFT JOIN losses USING (trace_id, span_id)
    )`;
}
