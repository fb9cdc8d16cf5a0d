import { sanitisedText } from '../../../base/common/pg-text.js';
import type { Reader } from '../../../web/contract/principal.js';
import { type SqlValues, type Statement, statement } from '../../../base/database/statement.js';
import { countCallers } from './callers.sql.js';

/** Lengths of cells, in seconds, shortest first. Each length divides the next one. */
const cellLengths = [60, 3_600, 86_400] as const;

/** The table `lengths` with the column `seconds`: all lengths of cells. */
export const lengthsTable = `(VALUES ${cellLengths.map((seconds) => `(${seconds})`).join(', ')}) AS lengths (seconds)`;

/** The project of an execution's row. */
export const rowProject = `coalesce(metadata->>'projectId', 'default')`;

/** A condition on rows: they belong to one of the projects in a parameter, which is null for all projects. */
export const inProjects = (parameter: string): string =>
  `(${parameter}::text[] IS NULL OR ${rowProject} = ANY (${parameter}))`;

/** Bytes of appended latency entries after which the entries of each bucket are merged. */
const compactedEvery = 1_024;

/** SQL for the start of the cell that a time belongs to. */
export const startOf = (seconds: string, time: string): string =>
  `date_bin(${seconds} * interval '1 second', ${time}, '1970-01-01 00:00:00+00')`;

/** Primary key of tool_metric_rollups. */
const key = 'seconds, starts_at, tool_name, status, error_type, is_test, writer';
/** Columns of tool_metric_rollups that are not in its key. */
const figures =
  'calls, total_ms, min_ms, max_ms, input_bytes, output_bytes, semantic_failures, last_at, latency, caller_errors, findings';

/** Adds the figures to those of an existing cell. */
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
    caller_errors = cell.caller_errors + excluded.caller_errors,
    findings = cell.findings + excluded.findings,
    latency = CASE
      WHEN length(cell.latency) / ${compactedEvery}
         = (length(cell.latency) + length(excluded.latency)) / ${compactedEvery}
      THEN cell.latency || excluded.latency
      ELSE metric_latency_compacted(cell.latency || excluded.latency)
    END`;

/** A condition on rows: the answer reports an error or was marked as wrong. The index tool_metrics_findings repeats it. */
export const hasFinding = `(semantic_failure IS NOT NULL OR metadata ? 'semanticError')`;

/** A condition on rows: statistics count executions of tools, not of prompts or resources. */
const isOfTool = `kind = 'tool'`;

/** A condition on rows: statistics count the execution. */
export const isCounted = `NOT is_test AND ${isOfTool}`;

/** The columns of an execution that are counted, as a select list over tool_metrics. */
export const countedColumns = `metric_id, tool_name, user_id, ${rowProject} AS project, status,
  error_type, is_test, kind, execution_time_ms, input_size, output_size, semantic_failure, tool_fault, recorded_at,
  ${hasFinding} AS has_finding`;

/** Executions of tools that match a condition, with countedColumns. */
const countedIn = (condition: string): string =>
  `(SELECT ${countedColumns} FROM tool_metrics WHERE ${isOfTool} AND ${condition}) AS counted`;

/** Counts rows of countedColumns by bucket of duration, and by minute if wanted. All statistics begin with this query. */
const countedByBucket = (from: string, { byMinute = false } = {}): string => `
  SELECT ${byMinute ? `${startOf('60', 'recorded_at')} AS minute,` : ''}
         tool_name, status, left(coalesce(error_type, ''), 100) AS error_type, is_test,
         metric_latency_bucket(execution_time_ms) AS bucket, count(*) AS calls, sum(execution_time_ms) AS total_ms,
         min(execution_time_ms) AS min_ms, max(execution_time_ms) AS max_ms, sum(input_size) AS input_bytes,
         sum(output_size) AS output_bytes, count(semantic_failure) AS semantic_failures, max(recorded_at) AS last_at,
         count(*) FILTER (WHERE error_type IN ('tool_error', 'timeout', 'cancelled') AND NOT tool_fault AND status <> 'success')
           AS caller_errors,
         count(*) FILTER (WHERE has_finding) AS findings
  FROM ${from}
  GROUP BY ${byMinute ? 'minute, ' : ''}tool_name, status, left(coalesce(error_type, ''), 100), is_test, bucket`;

/** The latency entry of a row of `countedByBucket`. */
const bucketEntry = 'metric_latency_entry(bucket, calls)';

/** Columns that sum up cells or buckets. `latency` is the expression of their entries. */
const summed = (latency: string): string => `
  sum(calls) AS calls, sum(total_ms) AS total_ms, min(min_ms) AS min_ms, max(max_ms) AS max_ms,
  sum(input_bytes) AS input_bytes, sum(output_bytes) AS output_bytes, sum(semantic_failures) AS semantic_failures,
  max(last_at) AS last_at, string_agg(${latency}, ''::bytea) AS latency,
  sum(caller_errors) AS caller_errors, sum(findings) AS findings`;

/** SQL for the start of a minute's day. */
const dayOf = startOf('86400', 'minute');

/** Stores the newest day of each tool. Rows that are up to date are not touched, so that writers do not wait for each other. */
const storeLastDays = `
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

/**
 * Counts executions into the cells of every length. All writers take the cells in the same order, so that they cannot
 * deadlock.
 * @param executions statement that returns countedColumns; usually the insert, so that both are one statement
 * @param writer SQL expression of the writer's slot
 * @param others SQL expression of an array: ids of executions that count for the caller `other`
 */
export const rollUp = (executions: string, writer: string, others = `'{}'`): string => `
  WITH inserted AS (${executions}),
  counted AS (SELECT * FROM inserted WHERE ${isOfTool}),
  buckets AS MATERIALIZED (${countedByBucket('counted', { byMinute: true })}),
  minutes AS MATERIALIZED (
    SELECT minute, tool_name, status, error_type, is_test, ${summed(bucketEntry)}
    FROM buckets
    GROUP BY minute, tool_name, status, error_type, is_test
  ),
  days AS (${storeLastDays}),
  callers AS (${countCallers(writer, others)})
  INSERT INTO tool_metric_rollups AS cell (${key}, ${figures})
  SELECT seconds, ${startOf('seconds', 'minute')} AS starts_at, tool_name, status, error_type, is_test, ${writer},
         ${summed('latency')}
  FROM minutes CROSS JOIN ${lengthsTable}
  GROUP BY 1, 2, 3, 4, 5, 6
  ORDER BY 1, 2, 3, 4, 5, 6
  ${addToCell}`;

/** A period in milliseconds since the epoch; its end is excluded. */
interface Period {
  readonly from: number;
  readonly to: number;
}

/** The parts from which a period is read: cells of each length; and executions, if it begins or ends within a minute. */
interface PeriodParts {
  readonly cells: readonly (Period & { readonly seconds: number })[];
  readonly rows: readonly Period[];
}

/**
 * Divides a period into parts that do not overlap, with as much as possible in long cells.
 * @param since included
 * @param until included, to the millisecond
 * @param lengths lengths of cells in seconds, shortest first; each divides the next one. If empty, all is read from rows
 */
export function periodParts(since: Date, until: Date, lengths: readonly number[] = cellLengths): PeriodParts {
  const cells: (Period & { seconds: number })[] = [];
  const rows: Period[] = [];
  /** Adds the parts of a range: in its middle cells of the longest length that fits, before and after them shorter ones. */
  const divide = (from: number, to: number, available: readonly number[]): void => {
    if (from >= to) return;
    const seconds = available.at(-1);
    if (seconds === undefined) return void rows.push({ from, to });
    const shorter = available.slice(0, -1);
    const ms = seconds * 1_000;
    const [first, last] = [Math.ceil(from / ms) * ms, Math.floor(to / ms) * ms];
    if (first >= last) return divide(from, to, shorter);
    divide(from, first, shorter);
    cells.push({ seconds, from: first, to: last });
    divide(last, to, shorter);
  };
  divide(since.getTime(), until.getTime() + 1, lengths);
  return { cells, rows };
}

/** The executions that `selectCounts` counts, by default of all tools and projects. */
export interface CountsWanted extends Reader {
  /** Whether the latency is read, which is most of the work. */
  readonly latency: boolean;
  readonly tools?: readonly string[] | undefined;
  /** Whether executions that ran elsewhere are left out. */
  readonly ownOnly?: boolean;
}

/** A condition on rows: the execution ran elsewhere, and its caller reported it. */
export const ranElsewhere = `metadata @> '{"external": true}'`;

/** A condition on rows or cells: they are of one of the tools, by default of any. */
const toolsIn = (tools: readonly string[] | undefined, values: SqlValues): string =>
  tools ? `AND tool_name = ANY (${values.add(tools.map(sanitisedText))}::text[])` : '';

/** Columns that cells and `countedByBucket` share. */
const cellColumns = `
  tool_name, status, error_type, calls, total_ms, min_ms, max_ms, input_bytes, output_bytes, semantic_failures,
  caller_errors, findings`;

/**
 * Executions of a period counted by tool, status and type of error (see CountedRow), in one statement and so in one
 * snapshot; no test calls. Sums are float8: exact for whole numbers up to 2^53, and twice as fast as `numeric`. Cells
 * have no project, so figures of some projects are counted from rows.
 * @param wanted without `latency`, that column is null
 */
export const selectCounts = ({ cells, rows }: PeriodParts, wanted: CountsWanted): Statement =>
  statement((values) => {
    const ofTools = toolsIn(wanted.tools, values);
    const ownRows = wanted.ownOnly ? `AND NOT ${ranElsewhere}` : '';
    const ownCells = wanted.ownOnly ? 'AND writer >= 0' : '';
    // Each bound is a parameter, so that the planner can skip the partitions of other days.
    const within = (column: string, { from, to }: Period): string =>
      `${column} >= ${values.add(new Date(from))} AND ${column} < ${values.add(new Date(to))} AND NOT is_test ${ofTools}`;
    // Executions before cells: inserts and drops lock them in the same order, so that statements do not deadlock.
    const parts = [
      ...rows.map(
        (part) => `
        SELECT ${cellColumns}, ${bucketEntry} AS latency, ${part.from}::float8 AS first_ms
        FROM (${countedByBucket(countedIn(`${within('recorded_at', part)} ${ownRows} AND ${inProjects(values.add(wanted.projects ?? null))}`))}) AS buckets`,
      ),
      ...cells.map(
        (part) => `
        SELECT ${cellColumns}, latency, (extract(epoch FROM starts_at) * 1000)::float8 AS first_ms
        FROM tool_metric_rollups
        WHERE seconds = ${part.seconds} AND ${within('starts_at', part)} ${ownCells}`,
      ),
    ];
    return `
    SELECT tool_name AS "toolName", error_type AS "errorType", ${sums}, sum(input_bytes::float8) AS "inputBytes",
           sum(output_bytes::float8) AS "outputBytes", sum(caller_errors::float8) AS "callerErrors",
           min(first_ms) AS "firstMs", ${wanted.latency ? latencies : 'NULL'} AS latency
    FROM (${parts.join(' UNION ALL ')}) AS parts
    GROUP BY tool_name, status, error_type
    HAVING sum(calls) > 0`;
  });

/** Sums of cells by status, which all statistics have. */
const sums = `status, sum(calls::float8) AS calls, sum(total_ms::float8) AS "totalMs", min(min_ms) AS "minMs",
           max(max_ms) AS "maxMs", sum(semantic_failures::float8) AS "semanticFailures", sum(findings::float8) AS findings`;

/** Latency entries in base64: a third shorter than the driver's hexadecimal, and several times as fast to read. */
const latencies = `encode(string_agg(latency, ''::bytea), 'base64')`;

/** The buckets of a time series. They are whole minutes, so that only cells are read. */
export interface SeriesRange extends Reader {
  /** Start of the first bucket. */
  readonly from: Date;
  /** End of the last bucket. */
  readonly to: Date;
  readonly bucketMs: number;
}

/** FROM and WHERE of a series: the longest cells of which buckets consist, or minutes counted from rows of some projects. */
function fromCells({ from, to, bucketMs, projects }: SeriesRange, values: SqlValues): string {
  const during = (time: string): string =>
    `${time} >= ${values.add(from)} AND ${time} < ${values.add(to)} AND NOT is_test`;
  if (projects === undefined)
    return `
    FROM tool_metric_rollups
    WHERE seconds = ${cellLengths.findLast((seconds) => (bucketMs / 1_000) % seconds === 0)} AND ${during('starts_at')}`;
  const rows = countedIn(`${during('recorded_at')} AND ${inProjects(values.add(projects))}`);
  return `
    FROM (
      SELECT *, minute AS starts_at, ${bucketEntry} AS latency FROM (${countedByBucket(rows, { byMinute: true })}) AS buckets
    ) AS cells
    WHERE true`;
}

/** Executions counted by bucket and status, of one tool or of all together. */
export const selectSeries = (range: SeriesRange, tool: string | undefined): Statement =>
  statement(
    (values) => `
    SELECT ${startOf(values.add(range.bucketMs / 1_000), 'starts_at')} AS at, ${sums}, ${latencies} AS latency
    ${fromCells(range, values)} ${tool === undefined ? '' : `AND tool_name = ${values.add(tool)}`}
    GROUP BY 1, status
    HAVING sum(calls) > 0`,
  );

/** Calls and failures by tool (default: all) and bucket; `at` is the bucket's index. Tools without calls are absent. */
export const selectTrends = (range: SeriesRange, tools?: readonly string[]): Statement =>
  statement(
    (values) => `
    SELECT tool_name AS "toolName", sum(calls)::float8 AS calls,
           coalesce(sum(calls) FILTER (WHERE status <> 'success'), 0)::float8 AS failures,
           sum(caller_errors)::float8 AS "callerErrors",
           (extract(epoch FROM starts_at - ${values.add(range.from)}::timestamptz)::int / ${values.add(range.bucketMs / 1_000)}::int) AS at
    ${fromCells(range, values)} ${toolsIn(tools, values)}
    GROUP BY tool_name, at`,
  );
