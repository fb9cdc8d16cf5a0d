import { type Statement, type SqlValues, statement } from '../../../base/database/statement.js';
import { billableSpans } from './billable-spans.sql.js';
import { conditionOf, isOfKind, type SpanFilter } from './span-filter.sql.js';
import { findingKey } from './summary.sql.js';

/** The most entries of a list that a group shows, such as its traces. */
export const maxListed = 100;

/** Spans of a slice start within it: a bucket of so many seconds, or of a multiple, has whole slices. */
export const slotSeconds = 300;

/** Pauses in `rough_from` and so on: a group of which a fortieth takes longer has no such part without a letter. */
export const maxPauseUs = 30_000_000;

export type Within = 'run_id' | 'thread_id' | undefined;

/** A condition for spans without a parent in the group. */
const isRoot = (within: Within): string => `NOT EXISTS (
        SELECT FROM chosen AS parent
        WHERE parent.trace_id = spans.trace_id AND parent.span_id = spans.parent_span_id
          ${within ? `AND parent.${within} = spans.${within}` : ''})`;

const distinct = (column: string, condition = `${column} IS NOT NULL`): string =>
  `array_agg(DISTINCT ${column} COLLATE "C") FILTER (WHERE ${condition})`;

const failed = `status = 'error'`;
const isActive = `kind IN ('llm', 'tool')`;
const state = `CASE WHEN ${failed} THEN CASE WHEN ${isActive} THEN 3 ELSE 4 END WHEN kind = 'tool' THEN 2 ELSE 1 END`;
const active = (column: string): string => `array_agg(${column}) FILTER (WHERE ${isActive} OR ${failed})`;

/** Columns of `run_slices` and of what is counted now. */
const columns = `run_id, thread_id, slot_us, first_us, last_us, finish_us, spans, errors, calls, call_ms, cost, input_tokens,
      output_tokens, root_failed, last_id, last_failed, trace_ids, request_models, used_models, used_tools, labels, error_texts,
      findings, root_starts, root_ids, root_operation, active_from, active_to, active_states,
      rough_from, rough_to, rough_states`;

/**
 * The spans that meet a condition as the CTE `counted_slices`. Times of one state that overlap become one: it covers the same
 * parts of any longer time.
 * @returns text that goes on after `WITH RECURSIVE`
 */
const countedSlices = (condition: string, within: Within, seconds = slotSeconds): string => `
    ${billableSpans(condition, within)}, whole AS (
      SELECT run_id, thread_id, start_us / ${seconds * 1_000_000} * ${seconds * 1_000_000} AS slot_us, min(start_us) AS first_us,
             max(start_us) AS last_us, max(finish_us) AS finish_us, count(*) AS spans, count(*) FILTER (WHERE ${failed}) AS errors,
             count(*) FILTER (WHERE is_call) AS calls, array_agg(duration_ms) FILTER (WHERE is_call AND duration_ms > 0) AS call_ms,
             sum(call_cost) AS cost, sum(call_input) AS input_tokens, sum(call_output) AS output_tokens,
             bool_or(${failed} AND is_root) AS root_failed,
             (array_agg(span_id ORDER BY start_us DESC, span_id DESC))[1] AS last_id,
             (array_agg(${failed} ORDER BY start_us DESC, span_id DESC))[1] AS last_failed,
             ${distinct('trace_id')} AS trace_ids, ${distinct('request_model')} AS request_models,
             ${distinct('call_model')} AS used_models, ${distinct(`tool_name`, `kind = 'tool' AND tool_name IS NOT NULL`)} AS used_tools,
             ${distinct('label')} AS labels, (${distinct('left(error_message, 500)')})[1:${maxListed}] AS error_texts,
             ${distinct(findingKey, 'is_text AND semantic_pattern IS NOT NULL')} AS findings,
             (array_agg(start_us ORDER BY start_us, span_id) FILTER (WHERE is_root))[1:${maxListed}] AS root_starts,
             (array_agg(span_id ORDER BY start_us, span_id) FILTER (WHERE is_root))[1:${maxListed}] AS root_ids,
             (array_agg(operation ORDER BY start_us, span_id) FILTER (WHERE is_root))[1] AS root_operation,
             ${active('start_us')} AS starts, ${active('finish_us')} AS ends, ${active(state)} AS states
      FROM (SELECT *, ${isRoot(within)} AS is_root FROM counted AS spans) AS spans
      GROUP BY 1, 2, 3
    ), counted_slices AS (
      SELECT * FROM whole,
        LATERAL (${joined('starts, ends, states')}) AS active (active_from, active_to, active_states),
        LATERAL (${joined('active_from, active_to, active_states', maxPauseUs)}) AS rough (rough_from, rough_to, rough_states)
    )`;

/** Joins times of one state that overlap, or have a pause of less than so many microseconds between them. */
const joined = (times: string, pauseUs = 0): string => `
          SELECT array_agg(from_us), array_agg(to_us), array_agg(state)
          FROM (
            SELECT state, min(from_us) AS from_us, max(to_us) AS to_us
            FROM (
              SELECT *, count(*) FILTER (WHERE state = 4 OR reached_us IS NULL OR from_us >= reached_us + CASE WHEN from_us < to_us THEN ${pauseUs} ELSE 0 END)
                OVER (PARTITION BY state ORDER BY from_us, to_us ROWS UNBOUNDED PRECEDING) AS island
              FROM (
                SELECT *, max(to_us) OVER (PARTITION BY state ORDER BY from_us, to_us
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_us
                FROM unnest(${times}) AS each (from_us, to_us, state)
              ) AS reaching
            ) AS islands
            GROUP BY state, island
          ) AS joined`;

/** Slices that hold of the runs of a project. */
const keptSlices = `run_slices AS slice JOIN run_figures AS run USING (project, run_id, version)`;

/** A condition on slices: their run has some that may have spans of a range. */
const startingIn = (
  { project, startUs = 0, endUs = Number.MAX_SAFE_INTEGER }: NonNullable<Slices['reads']>,
  values: SqlValues,
): string => `run_id = ANY (ARRAY(
      SELECT DISTINCT run_id FROM run_slices
      WHERE project = ${values.add(project)}
        AND slot_us BETWEEN ${values.add(startUs - slotSeconds * 1_000_000)} AND ${values.add(endUs)}
    ))`;

/** Slices that a question reads. */
export interface Slices {
  readonly filter: SpanFilter;
  /** Runs whose spans are counted now; undefined: all, and no slice is taken from the table. */
  readonly direct?: readonly string[] | undefined;
  /** Only runs with a slice in this range are read. */
  readonly reads?: Pick<SpanFilter, 'project' | 'startUs' | 'endUs'> | undefined;
  readonly within: Within;
  readonly seconds?: number | undefined;
}

/** @returns the CTE `slices` */
export function selectSlices({ filter, direct, reads, within, seconds }: Slices, values: SqlValues): string {
  const counted = (runs = ''): string =>
    countedSlices(`${conditionOf(filter, values)}${runs}`, within, seconds);
  if (!direct) return `${counted()}, slices AS (SELECT ${columns} FROM counted_slices)`;
  const { project, runIds, threadIds, startUs, endUs, runKind } = filter;
  const runs = values.add([...direct]);
  const conditions = [`project = ${values.add(project)}`, `run_id <> ALL (${runs}::text[])`];
  const hold = (comparison: string, value: unknown): void => {
    if (value !== undefined) conditions.push(comparison.replace('?', () => values.add(value)));
  };
  hold('run_id = ANY (?::text[])', runIds);
  hold('thread_id = ANY (?::text[])', threadIds);
  hold('first_us >= ?', startUs);
  hold('last_us <= ?', endUs);
  if (runKind) conditions.push(isOfKind(runKind));
  if (reads) conditions.push(startingIn(reads, values));
  const kept = `SELECT ${columns} FROM ${keptSlices} WHERE ${conditions.join(' AND ')}`;
  if (direct.length === 0) return `slices AS (${kept})`;
  return `${counted(` AND run_id = ANY (${runs}::text[])`)}, slices AS (
      ${kept} UNION ALL SELECT ${columns} FROM counted_slices
    )`;
}

/** A condition on a run: its slices are not of its version. */
const isUncounted = 'counted IS DISTINCT FROM version';

/** A condition on the runs that a question reads; undefined: none. */
export type RunsRead = ((values: SqlValues) => string) | undefined;

export interface UncountedRun {
  readonly project: string;
  readonly key: string;
  readonly version: string;
  /** It lost spans. */
  readonly unsettled: boolean;
}

/** Runs to be counted before a question is asked: those that it reads, and those that lost spans, of all projects unless one is named. */
export const selectUncounted = (project: string | undefined, read: RunsRead, limit: number): Statement =>
  statement((values) => {
    const each = (condition: string): string => `
    SELECT project, run_id AS key, version, start_us IS NULL AS unsettled FROM run_figures AS run
    WHERE ${project === undefined ? 'true' : `project = ${values.add(project)}`} AND ${condition}`;
    const wanted = read ? `UNION ${each(`${read(values)} AND ${isUncounted}`)}` : '';
    return `${each('start_us IS NULL')} ${wanted} ORDER BY project, key LIMIT ${values.add(limit)}`;
  });

/** Counts runs of a project. Slices of other versions go; others may count the same runs: neither waits long. */
export const countSlices = (project: string, runIds: readonly string[]): Statement =>
  statement((values) => {
    const condition = conditionOf({ project, runIds }, values);
    const own = `project = ${values.add(project)}`;
    return `
    WITH RECURSIVE ${countedSlices(condition, 'run_id')}, old AS (
      SELECT slice.ctid FROM run_slices AS slice JOIN run_figures AS run USING (project, run_id)
      WHERE ${condition} AND slice.version <> run.version
      FOR UPDATE OF slice SKIP LOCKED
    ), gone AS (
      DELETE FROM run_slices WHERE ctid = ANY (ARRAY(SELECT ctid FROM old))
    )
    INSERT INTO run_slices (project, version, ${columns})
    SELECT project, version, ${columns} FROM counted_slices JOIN (SELECT project, run_id, version FROM run_figures WHERE ${own}) AS run USING (run_id)
    ORDER BY run_id, slot_us
    ON CONFLICT DO NOTHING`;
  });

/** Notes that runs were counted, unless these have changed since; those without spans go. Others may do or mark the same: none waits. */
export const settleRuns = (
  project: string,
  runs: readonly Pick<UncountedRun, 'key' | 'version'>[],
): Statement => ({
  text: `
    WITH same AS (
      SELECT run_id, version FROM run_figures AS run
      JOIN unnest($2::text[], $3::bigint[]) AS seen (run_id, version) USING (run_id, version)
      WHERE project = $1
      FOR UPDATE OF run SKIP LOCKED
    ), figured AS (
      SELECT run_id, min(first_us) AS start_us, sum(spans) AS spans
      FROM same LEFT JOIN (SELECT * FROM run_slices WHERE project = $1) AS slice USING (run_id, version)
      GROUP BY run_id
    ), gone AS (
      DELETE FROM run_figures AS run USING figured
      WHERE project = $1 AND run.run_id = figured.run_id AND figured.start_us IS NULL
    )
    UPDATE run_figures AS run
    SET counted = version, start_us = figured.start_us,
        is_agent = figured.spans > 1 OR EXISTS (SELECT FROM spans WHERE spans.project = $1 AND spans.run_id = run.run_id)
    FROM figured
    WHERE project = $1 AND run.run_id = figured.run_id AND figured.start_us IS NOT NULL`,
  values: [project, runs.map(({ key }) => key), runs.map(({ version }) => version)],
});

/**
 * Runs of which a question takes no slices: those that are not counted, that share a trace with another run (or have one of
 * several threads, for figures of threads), and of which a range or a bucket takes some spans of a slice.
 */
export const selectDirect = (
  { filter, reads, within }: Slices,
  uncounted: readonly string[],
  bucketSeconds?: number,
): Statement =>
  statement((values) => {
    const { project } = filter;
    const others = { project, runIds: uncounted };
    const threads = `min(coalesce(thread_id, '')) <> max(coalesce(thread_id, '')) OR bool_or(thread_id IS NULL) <> bool_and(thread_id IS NULL)`;
    return `
    WITH kept AS MATERIALIZED (
      SELECT run_id, thread_id, first_us, last_us, trace_ids FROM ${keptSlices}
      WHERE project = ${values.add(project)} ${reads ? `AND ${startingIn(reads, values)}` : ''}
    ), traces AS (
      SELECT run_id, thread_id, unnest(trace_ids) AS trace_id FROM kept
      ${uncounted.length > 0 ? `UNION ALL SELECT DISTINCT run_id, NULL, trace_id FROM all_spans WHERE ${conditionOf(others, values)}` : ''}
    )
    SELECT DISTINCT unnest(runs) AS key FROM (
      SELECT array_agg(run_id) AS runs FROM traces
      GROUP BY trace_id HAVING min(run_id COLLATE "C") <> max(run_id COLLATE "C") ${within ? `OR ${threads}` : ''}
    ) AS shared
    UNION SELECT unnest(${values.add([...uncounted])}::text[])
    ${within ? '' : `UNION SELECT run_id FROM kept GROUP BY run_id HAVING ${straddles(filter, bucketSeconds, values)}`}`;
  });

/** Whether a range has some spans of a run, or a bucket some of a slice. */
function straddles(
  { startUs = 0, endUs = Number.MAX_SAFE_INTEGER }: SpanFilter,
  bucketSeconds: number | undefined,
  values: SqlValues,
): string {
  const [from, to, size] = [values.add(startUs), values.add(endUs), (bucketSeconds ?? 0) * 1_000_000];
  const slice = size > 0 ? `OR bool_or(first_us / ${size} <> last_us / ${size})` : '';
  return `min(first_us) <= ${to} AND max(last_us) >= ${from} AND (min(first_us) < ${from} OR max(last_us) > ${to} ${slice})`;
}
