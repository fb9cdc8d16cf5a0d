/** Lengths of the spans that cells count, in seconds, shortest first; each divides the next one. */
export const spans = [60, 600, 3_600, 21_600, 86_400] as const;

/** Entries are appended; only where they cross another so many bytes are those of one bucket put together. */
const compactedEvery = 1_024;

/** The start of the span that a time lies in. */
const startOf = (seconds: string, time: string): string =>
  `date_bin(${seconds} * interval '1 second', ${time}, '1970-01-01 00:00:00+00')`;

const key = 'seconds, starts_at, tool_name, status, error_type, is_test, writer';
const figures =
  'calls, total_ms, min_ms, max_ms, input_bytes, output_bytes, semantic_failures, last_at, latency';

/** What becomes of a cell that is there already. */
const addToCell = `
  ON CONFLICT (${key}) DO UPDATE SET
    calls = cell.calls + excluded.calls,
    total_ms = cell.total_ms + excluded.total_ms,
    min_ms = least(cell.min_ms, excluded.min_ms),
    max_ms = greatest(cell.max_ms, excluded.max_ms),
    input_bytes = cell.input_bytes + excluded.input_bytes,
    output_bytes = cell.output_bytes + excluded.output_bytes,
    semantic_failures = cell.semantic_failures + excluded.semantic_failures,
    last_at = greatest(cell.last_at, excluded.last_at),
    latency = CASE
      WHEN length(cell.latency) / ${compactedEvery}
         = (length(cell.latency) + length(excluded.latency)) / ${compactedEvery}
      THEN cell.latency || excluded.latency
      ELSE metric_latency_compacted(cell.latency || excluded.latency)
    END`;

/** Executions by bucket of duration, and by minute if asked: the inner half of every statistic. */
export const countedByBucket = (from: string, byMinute = false): string => `
  SELECT ${byMinute ? `${startOf('60', 'recorded_at')} AS minute,` : ''}
         tool_name, status, left(coalesce(error_type, ''), 100) AS error_type, is_test,
         metric_latency_bucket(execution_time_ms) AS bucket, count(*) AS calls, sum(execution_time_ms) AS total_ms,
         min(execution_time_ms) AS min_ms, max(execution_time_ms) AS max_ms, sum(input_size) AS input_bytes,
         sum(output_size) AS output_bytes, count(semantic_failure) AS semantic_failures, max(recorded_at) AS last_at
  FROM ${from}
  GROUP BY ${byMinute ? 'minute, ' : ''}tool_name, status, left(coalesce(error_type, ''), 100), is_test, bucket`;

/** Entries of what `countedByBucket` gives. */
export const bucketEntry = 'metric_latency_entry(bucket, calls)';

/** What puts cells, or buckets, together; `latency` is the entries' expression. */
export const summed = (latency: string): string => `
  sum(calls) AS calls, sum(total_ms) AS total_ms, min(min_ms) AS min_ms, max(max_ms) AS max_ms,
  sum(input_bytes) AS input_bytes, sum(output_bytes) AS output_bytes, sum(semantic_failures) AS semantic_failures,
  max(last_at) AS last_at, string_agg(${latency}, ''::bytea) AS latency`;

/** Day cells' start. */
const dayOf = startOf('86400', 'minute');

/**
 * Moves on what is known of the tools whose newest day these executions begin: once a tool and day. All others are left
 * alone, so that writers do not wait for each other here.
 */
const noteDays = `
  INSERT INTO tool_last_days AS known (tool_name, is_test, day)
  SELECT tool_name, is_test, max(${dayOf})
  FROM minutes
  WHERE NOT EXISTS (
    SELECT FROM tool_last_days AS noted
    WHERE noted.tool_name = minutes.tool_name AND noted.is_test = minutes.is_test AND noted.day >= ${dayOf}
  )
  GROUP BY tool_name, is_test
  ORDER BY tool_name, is_test
  ON CONFLICT (tool_name, is_test) DO UPDATE SET day = greatest(known.day, excluded.day)`;

/** CTEs: what these rows add to the cells, by minute. */
export const minutesOfRows = (from: string): string => `
  buckets AS MATERIALIZED (${countedByBucket(from, true)}),
  minutes AS MATERIALIZED (
    SELECT minute, tool_name, status, error_type, is_test, ${summed(bucketEntry)}
    FROM buckets
    GROUP BY minute, tool_name, status, error_type, is_test
  )`;

/** The columns of `minuteColumns` and their types. */
const counted = {
  minute_ms: 'float8',
  tool_name: 'text',
  status: 'text',
  error_type: 'text',
  is_test: 'bool',
  calls: 'bigint',
  total_ms: 'bigint',
  min_ms: 'int',
  max_ms: 'int',
  input_bytes: 'bigint',
  output_bytes: 'bigint',
  last_ms: 'float8',
  latency: 'bytea',
} as const;

/** The same, counted by whoever sends it. @param first number of the parameters, one array a column */
export const minutesOfParameters = (first: number): string => {
  const arrays = Object.values(counted).map((type, at) => `$${first + at}::${type}[]`);
  return `
  minutes AS MATERIALIZED (
    SELECT to_timestamp(minute_ms / 1000) AS minute, tool_name, status, error_type, is_test, calls, total_ms, min_ms,
           max_ms, input_bytes, output_bytes, 0 AS semantic_failures, to_timestamp(last_ms / 1000) AS last_at, latency
    FROM unnest(${arrays.join(', ')}) AS counted (${Object.keys(counted).join(', ')})
  )`;
};

/**
 * Counts executions into the cells of every span. The cells' order is the same for every writer: none waits in a circle.
 * @param ctes `minutes`, and what it needs
 * @param writer an expression
 * @param into lengths of the cells
 */
export const rollUp = (ctes: string, writer: string, into: readonly number[] = spans): string => `
  WITH ${ctes},
  days AS (${noteDays})
  INSERT INTO tool_metric_rollups AS cell (${key}, ${figures})
  SELECT seconds, ${startOf('seconds', 'minute')} AS starts_at, tool_name, status, error_type, is_test, ${writer},
         ${summed('latency')}
  FROM minutes CROSS JOIN (VALUES ${into.map((seconds) => `(${seconds})`).join(', ')}) AS spans (seconds)
  GROUP BY 1, 2, 3, 4, 5, 6
  ORDER BY 1, 2, 3, 4, 5, 6
  ${addToCell}`;

/** seconds of the longer span, from, to: its cells out of those of the shorter one, where none are yet. */
export const cellsOfShorter = (shorter: number): string => `
  INSERT INTO tool_metric_rollups AS cell (${key}, ${figures})
  SELECT $1::int, ${startOf('$1::int', 'starts_at')} AS longer, tool_name, status, error_type, is_test, writer,
         sum(calls), sum(total_ms), min(min_ms), max(max_ms), sum(input_bytes), sum(output_bytes),
         sum(semantic_failures), max(last_at), metric_latency_compacted(string_agg(latency, ''::bytea))
  FROM tool_metric_rollups
  WHERE seconds = ${shorter} AND starts_at >= $2 AND starts_at < $3
  GROUP BY 2, 3, 4, 5, 6, 7`;
