import { type Statement, statement } from '../../../base/database/statement.js';
import { billableSpans } from './billable-spans.sql.js';
import { conditionOf, type SpanFilter } from './span-filter.sql.js';

/** Max entries of a list. */
const maxListed = 20;
/** Max operations that are counted by name. */
const maxNames = 50;
/** Max entries of the lists of the slowest and of the most expensive spans. */
const maxRanked = 5;
/** Max characters of a failed span's message, and of a tool's error. */
const maxMessageLength = 300;
const maxToolErrorLength = 500;
/** Min calls with the same arguments that count as repeated. */
const minRepetitions = 3;
/** Min failures of the same kind that count as repeated. */
const minFailures = 2;

/** p50, p95 and p99 by nearest rank: each is the duration of an actual span. */
const percentiles = (column: string, condition: string): string =>
  `percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY ${column}) FILTER (WHERE ${condition})`;

/** Counts and sums of all spans, and by operation, model and label. Spans with the same three are added first, in one pass. */
const sums = `
  by_all_three AS (
    SELECT operation, call_model, label, count(*) AS spans, count(*) FILTER (WHERE is_call) AS calls,
           count(*) FILTER (WHERE status = 'error') AS errors, sum(duration_ms) AS duration_ms, sum(call_cost) AS cost,
           sum(call_input) AS input_tokens, sum(call_output) AS output_tokens, sum(call_cached) AS cached_tokens
    FROM counted
    GROUP BY operation, call_model, label
  ), sums AS (
    SELECT grouping(operation, call_model, label) AS part, operation, call_model, label, coalesce(sum(spans), 0)::bigint AS spans,
           sum(calls)::bigint AS calls, coalesce(sum(errors), 0)::bigint AS errors, sum(duration_ms) AS duration_ms, sum(cost) AS cost,
           coalesce(sum(input_tokens), 0) AS input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens,
           coalesce(sum(cached_tokens), 0) AS cached_tokens
    FROM by_all_three
    GROUP BY GROUPING SETS ((), (operation), (call_model), (label))
  )`;
/** Values of the column `part` of `sums`. Each bit is a column by which the row is not grouped: operation 4, model 2, label 1. */
const [byOperation, byModel, byLabel, ofAll] = [3, 5, 6, 7];

/** Failed spans, and spans with tool calls, tool errors or findings: with few columns, because several lists read them. */
const narrowSpans = `
  failed AS MATERIALIZED (
    SELECT start_us, trace_id, span_id, operation, error_message FROM counted WHERE status = 'error'
  ), reporting AS MATERIALIZED (
    SELECT start_us, trace_id, span_id, run_id, operation, tool_errors, tool_calls, input_tokens, output_tokens, call_cost,
           semantic_pattern, semantic_severity, semantic_source, semantic_snippet, semantic_call_id
    FROM counted
    WHERE is_text AND (tool_errors IS NOT NULL OR tool_calls IS NOT NULL OR semantic_pattern IS NOT NULL)
  )`;

/**
 * The longest spans, and in `covered` the time of each while some child of it ran. Overlapping children count once: each child
 * adds only the time after the end of all that started before it.
 */
const selfTimes = `
  longest AS MATERIALIZED (
    SELECT * FROM counted ORDER BY duration_ms DESC FETCH FIRST ${maxRanked} ROWS WITH TIES
  ), children AS (
    SELECT child.trace_id, child.parent_span_id AS span_id, parent.start_us AS parent_us,
           greatest(child.start_us, parent.start_us) AS start_us, least(child.finish_us, parent.finish_us) AS finish_us
    FROM chosen AS child JOIN longest AS parent
      ON parent.trace_id = child.trace_id AND parent.span_id = child.parent_span_id AND parent.span_id <> child.span_id
  ), reaching AS (
    SELECT *, max(finish_us) OVER (PARTITION BY trace_id, span_id, parent_us ORDER BY start_us, finish_us
             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_us
    FROM children
  ), covered AS (
    SELECT trace_id, span_id, parent_us,
           sum(greatest(0, finish_us - greatest(start_us, coalesce(reached_us, start_us)))) AS covered_us
    FROM reaching
    GROUP BY trace_id, span_id, parent_us
  )`;

/** Identifies a finding, so that it counts once: by the id of the tool call, else in a request by its text, else by the span. */
export const findingKey = `coalesce(semantic_call_id,
             CASE semantic_source WHEN 'input' THEN semantic_pattern || semantic_snippet ELSE trace_id || span_id END)`;

/** Tool errors and findings. A tool's result is in its span and again in each later request of the run; the first one counts. */
const errorsInTexts = `
  tool_errors AS (
    SELECT DISTINCT ON (run_id, coalesce(error->>'tool_call_id', trace_id || span_id || place))
           start_us, trace_id, span_id, operation, error->>'tool_name' AS tool_name, left(error->>'message', ${maxToolErrorLength}) AS message,
           place
    FROM reporting, jsonb_array_elements(tool_errors) WITH ORDINALITY AS errors (error, place)
    ORDER BY run_id, coalesce(error->>'tool_call_id', trace_id || span_id || place), start_us, span_id, place
  ), findings AS (
    SELECT DISTINCT ON (run_id, ${findingKey})
           start_us, trace_id, span_id, operation, semantic_pattern, semantic_severity, semantic_source, semantic_snippet
    FROM reporting
    WHERE semantic_pattern IS NOT NULL
    ORDER BY run_id, ${findingKey}, start_us, span_id
  )`;

/**
 * Repeated calls: several calls of a tool with the same arguments in a run. Calls are counted in the models' answers and in
 * the tools' spans, and the larger number is shown. Tokens and cost are those of all model calls but the first.
 */
const repetitions = `
  calls_by_source AS (
    SELECT 'model' AS source, run_id, call->>'name' AS tool, call->>'hash' AS hash, start_us, trace_id, span_id,
           coalesce(input_tokens, 0) + coalesce(output_tokens, 0) AS tokens, coalesce(call_cost, 0) AS cost
    FROM reporting, jsonb_array_elements(tool_calls) AS calls (call)
    WHERE call->>'hash' IS NOT NULL
    UNION ALL
    SELECT 'tool', run_id, tool_name, arguments_hash, start_us, trace_id, span_id, 0, 0
    FROM counted
    WHERE kind = 'tool' AND tool_name IS NOT NULL AND arguments_hash IS NOT NULL
  ), by_span AS (
    SELECT source, run_id, tool, hash, trace_id, span_id, min(start_us) AS start_us, count(*) AS times,
           min(tokens) AS tokens, min(cost) AS cost,
           row_number() OVER (PARTITION BY source, run_id, tool, hash ORDER BY min(start_us), span_id) AS turn
    FROM calls_by_source
    GROUP BY source, run_id, tool, hash, trace_id, span_id
  ), repeated AS (
    SELECT DISTINCT ON (run_id, tool, hash) run_id, tool, hash, sum(times) AS times, min(start_us) AS start_us,
           coalesce(sum(tokens) FILTER (WHERE turn > 1), 0) AS tokens, coalesce(sum(cost) FILTER (WHERE turn > 1), 0) AS cost,
           min(span_id) FILTER (WHERE turn = 1) AS first_span
    FROM by_span
    GROUP BY source, run_id, tool, hash
    HAVING sum(times) >= ${minRepetitions}
    ORDER BY run_id, tool, hash, sum(times) DESC, source
  )`;

/** A span's error message with placeholders for numbers and ids, so that failures of one kind have the same. */
const normalisedMessage = `left(regexp_replace(regexp_replace(regexp_replace(error_message,
  '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}', '<id>', 'g'),
  '\\m(?=[0-9a-fA-F]*[0-9])[0-9a-fA-F]{8,}\\M', '<id>', 'g'), '\\d+', '<n>', 'g'), 200)`;

/** The name of a tool that does not exist, in a message about it. */
const unknownTool = `(regexp_match(message, 'unknown tool[^A-Za-z0-9_]*([A-Za-z0-9_.-]+)', 'i'))[1]`;

/** One list of a summary. */
interface Section {
  /** SQL expressions of an entry's members, by name. */
  readonly item: Readonly<Record<string, string>>;
  readonly from: string;
  readonly order: string;
  /** Max entries; by default `maxListed`. */
  readonly max?: number;
}

/** Members that all entries for a span have. */
const ofSpan = { span_id: 'span_id', trace_id: 'trace_id', operation: 'operation' };

/** The lists of a summary by name. */
const sections: Readonly<Record<string, Section>> = {
  by_operation: {
    item: { name: 'operation', count: 'spans' },
    from: `sums WHERE part = ${byOperation}`,
    order: 'spans DESC, operation COLLATE "C"',
    max: maxNames,
  },
  models_used: {
    item: { name: 'call_model' },
    from: `sums WHERE part = ${byModel} AND call_model IS NOT NULL AND calls > 0`,
    order: 'call_model COLLATE "C"',
  },
  labels_found: {
    item: { name: 'label' },
    from: `sums WHERE part = ${byLabel} AND label IS NOT NULL`,
    order: 'label COLLATE "C"',
  },
  model_breakdown: {
    item: {
      model: 'call_model',
      count: 'calls',
      cost: 'round(coalesce(cost, 0), 6)',
      input_tokens: 'input_tokens',
      output_tokens: 'output_tokens',
    },
    from: `sums WHERE part = ${byModel} AND call_model IS NOT NULL AND calls > 0`,
    order: 'coalesce(cost, 0) DESC, calls DESC, call_model COLLATE "C"',
  },
  tool_usage: {
    item: { name: 'name', count: 'times' },
    from: `(SELECT call->>'name' AS name, count(*) AS times
      FROM reporting, jsonb_array_elements(tool_calls) AS calls (call) GROUP BY 1) AS used`,
    order: 'times DESC, name COLLATE "C"',
  },
  repeated_failures: {
    item: { name: 'name', count: 'times', type: 'type' },
    from: `(SELECT operation AS name, count(*) AS times, 'operation' AS type, min(start_us) AS start_us
        FROM failed GROUP BY 1 HAVING count(*) >= ${minFailures}
      UNION ALL
      SELECT ${unknownTool}, count(*), 'tool', min(start_us)
        FROM (SELECT message, start_us FROM tool_errors
              UNION ALL SELECT error_message, start_us FROM failed) AS failures
        WHERE message ILIKE '%unknown tool%' AND ${unknownTool} IS NOT NULL GROUP BY 1 HAVING count(*) >= ${minFailures}) AS failures`,
    order: 'times DESC, start_us, name COLLATE "C", type',
  },
  repeated_calls: {
    item: {
      tool: 'tool',
      count: 'times',
      run_id: 'run_id',
      first_span: 'first_span',
      wasted_tokens: 'tokens',
      wasted_cost: 'round(cost, 6)',
    },
    from: 'repeated',
    order: 'times DESC, start_us, tool COLLATE "C", hash',
  },
  error_groups: {
    item: { message: 'message', count: 'times', first_span: 'first_span' },
    from: `(SELECT ${normalisedMessage} AS message, count(*) AS times, min(start_us) AS start_us,
        (array_agg(span_id ORDER BY start_us, span_id))[1] AS first_span
      FROM failed WHERE error_message IS NOT NULL GROUP BY 1) AS groups`,
    order: 'times DESC, start_us, message COLLATE "C"',
  },
  error_spans: {
    item: { ...ofSpan, error_message: `left(error_message, ${maxMessageLength})` },
    from: 'failed',
    order: 'start_us, span_id, trace_id',
  },
  semantic_error_spans: {
    item: {
      ...ofSpan,
      detected_pattern: 'semantic_pattern',
      severity: 'semantic_severity',
      source: 'semantic_source',
      snippet: 'semantic_snippet',
    },
    from: 'findings',
    order: `array_position(ARRAY['high', 'medium', 'low'], semantic_severity), start_us, span_id, trace_id`,
  },
  tool_call_errors: {
    item: { ...ofSpan, tool_name: 'tool_name', message: 'message' },
    from: 'tool_errors',
    order: 'start_us, span_id, trace_id, place',
  },
  slowest_spans: {
    item: { ...ofSpan, duration_ms: 'duration_ms', self_ms: 'self_ms', ttft_ms: 'round(ttft_us / 1000.0)' },
    from: `(SELECT longest.*, round((finish_us - start_us - coalesce(covered_us, 0)) / 1000.0)::bigint AS self_ms
      FROM longest LEFT JOIN covered
        ON covered.trace_id = longest.trace_id AND covered.span_id = longest.span_id AND parent_us = start_us) AS timed`,
    order: 'duration_ms DESC, self_ms DESC, start_us, span_id, trace_id',
    max: maxRanked,
  },
  expensive_spans: {
    item: { ...ofSpan, cost: 'round(call_cost, 6)', model: 'call_model' },
    from: 'counted WHERE call_cost > 0',
    order: 'call_cost DESC, start_us, span_id, trace_id',
    max: maxRanked,
  },
};

/** The query of a section. Its rows count all entries, shown or not. */
function selectSection(name: string, { item, from, order, max = maxListed }: Section): string {
  const members = Object.entries(item).map(([member, value]) => `'${member}', ${value}`);
  // Only the entries that are shown become JSON.
  return `(
    SELECT '${name}', nth, entries, jsonb_strip_nulls(jsonb_build_object(${members.join(', ')}))
    FROM (
      SELECT *, row_number() OVER (ORDER BY ${order})::int AS nth, count(*) OVER ()::int AS entries
      FROM ${from}
      ORDER BY nth
      LIMIT ${max}
    ) AS listed
    ORDER BY nth)`;
}

/** The figures of all spans, as a section with one entry. Durations are in milliseconds. */
const totals = `
    SELECT 'totals' AS section, 1 AS place, 1 AS total, jsonb_build_object(
      'spans', spans, 'errors', errors, 'duration_ms', coalesce(duration_ms, 0), 'cost', round(coalesce(cost, 0), 4),
      'input_tokens', input_tokens, 'output_tokens', output_tokens, 'cached_tokens', cached_tokens,
      'latency', latency, 'max_latency', max_latency,
      'ttft', (SELECT array_agg(round(us / 1000.0) ORDER BY us) FROM unnest(ttft) AS us), 'avg_ttft', avg_ttft) AS item
    FROM sums, (
      SELECT ${percentiles('duration_ms', 'duration_ms > 0')} AS latency, max(duration_ms) FILTER (WHERE duration_ms > 0) AS max_latency,
             ${percentiles('ttft_us', 'true')} AS ttft, round(avg(ttft_us) / 1000.0) AS avg_ttft
      FROM counted WHERE is_call
    ) AS timed
    WHERE part = ${ofAll}`;

/** The rows of a summary (see `SummaryRow`). */
export const selectSummary = (filter: SpanFilter): Statement =>
  statement((values) => {
    const parts = Object.entries(sections).map(([name, section]) => selectSection(name, section));
    return `
    WITH RECURSIVE ${billableSpans(conditionOf(filter, values))}, ${sums}, ${narrowSpans}, ${selfTimes}, ${errorsInTexts}, ${repetitions}
    ${[totals, ...parts].join('\n    UNION ALL ')}`;
  });
