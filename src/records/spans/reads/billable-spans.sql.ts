import { durationMs } from './span-filter.sql.js';

/** Number of ancestors that are searched for a span of the same model call. */
const maxLevels = 64;

const tells = (span: string): string =>
  `(${span}.input_tokens IS NOT NULL OR ${span}.output_tokens IS NOT NULL)`;

/** Whether a span describes a model call or carries its usage. */
const carries = (span: string): string =>
  `(${span}.call_part IS NOT NULL OR ${span}.cost IS NOT NULL OR ${tells(span)})`;

/**
 * The spans that meet a condition as the CTE `counted`, in which each model call counts once. Several spans may tell of one call:
 * a wrapper carries what the calls below it used, and of a pair of spans the outer one has cost, latency and text, the
 * inner one the tokens. So a span loses what a span below it tells as well; below an outer span the other one loses it,
 * but for the tokens. To columns of `all_spans` come
 * - `is_call`: it stands for a model call; `call_model`: the model that answered, else the one that was asked;
 * - `call_cost`, `call_input`, `call_output`, `call_cached`: what it adds to a sum;
 * - `is_text`: its findings and its tool calls count, for it tells of no model call that another span stands for;
 * - `duration_ms`.
 * A parent is looked for among those spans, and among those with the same value of `within` where that is
 * given, so that what a group comes to does not hang on which other groups are looked at.
 * @returns text that goes on after `WITH RECURSIVE`
 */
export function billableSpans(condition: string, within?: 'run_id' | 'thread_id'): string {
  const inside = within ? `AND child.${within} = below.${within}` : '';
  return `
    chosen AS MATERIALIZED (
      SELECT trace_id, span_id, parent_span_id, thread_id, run_id, operation, kind, call_part, start_us, finish_us, status,
             error_message, model, request_model, tool_name, label, cost, input_tokens, output_tokens, cached_tokens,
             ttft_us, arguments_hash, tool_calls, tool_errors, semantic_pattern, semantic_severity, semantic_source,
             semantic_snippet, semantic_call_id, ${durationMs} AS duration_ms
      FROM all_spans
      WHERE ${condition}
    ), below AS (
      SELECT trace_id, span_id AS top, span_id, run_id, thread_id, call_part IS NOT DISTINCT FROM 'outer' AS top_is_outer,
             call_part IS NOT NULL AS top_calls, cost IS NOT NULL AS top_costs, ${tells('chosen')} AS top_tells,
             coalesce(model, request_model) AS top_model, 0 AS level
      FROM chosen
      WHERE ${carries('chosen')}
      UNION
      SELECT child.trace_id, top, child.span_id, child.run_id, child.thread_id, top_is_outer, top_calls, top_costs, top_tells, top_model, level + 1
      FROM below JOIN chosen AS child ON child.trace_id = below.trace_id AND child.parent_span_id = below.span_id
        ${inside}
      WHERE level < ${maxLevels}
    ), pairs AS (
      SELECT below.trace_id, top, below.span_id, top_model, model, top_is_outer AND call_part IS DISTINCT FROM 'outer' AS is_pair,
             top_calls AND call_part IS NOT NULL AS both_call, top_costs AND cost IS NOT NULL AS both_cost,
             top_tells AND ${tells('low')} AS both_tell
      FROM below JOIN chosen AS low USING (trace_id, span_id)
      WHERE level > 0 AND below.span_id <> top AND ${carries('low')}
    ), told_twice AS (
      SELECT trace_id, span_id, bool_or(calls) AS calls, bool_or(costs) AS costs, bool_or(tells) AS tells,
             min(pair_model COLLATE "C") AS pair_model
      FROM (
        SELECT trace_id, top AS span_id, both_call AND NOT is_pair AS calls, both_cost AND NOT is_pair AS costs,
               both_tell AS tells, CASE WHEN is_pair THEN model END AS pair_model
        FROM pairs
        UNION ALL
        SELECT trace_id, span_id, both_call, both_cost, false, coalesce(model, top_model) FROM pairs WHERE is_pair
      ) AS losers
      GROUP BY trace_id, span_id
    ), counted AS (
      SELECT chosen.*, call_part IS NOT NULL AND calls IS NOT TRUE AS is_call,
             call_part IS NULL OR calls IS NOT TRUE AS is_text, coalesce(pair_model, model, request_model) AS call_model,
             CASE WHEN costs IS NOT TRUE THEN cost END AS call_cost,
             CASE WHEN tells IS NOT TRUE THEN input_tokens END AS call_input,
             CASE WHEN tells IS NOT TRUE THEN output_tokens END AS call_output,
             CASE WHEN tells IS NOT TRUE THEN cached_tokens END AS call_cached
      FROM chosen LEFT JOIN told_twice USING (trace_id, span_id)
    )`;
}
