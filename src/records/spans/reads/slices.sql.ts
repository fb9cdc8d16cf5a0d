import { type SqlValues, type Statement, statement } from '../../../base/database/statement.js';
import { billableSpans } from './billable-spans.sql.js';
import { conditionOf, isOfKind, latestUs, type SpanFilter } from './span-filter.sql.js';
import { findingKey } from './summary.sql.js';

// A slice has the figures of all spans of a run and thread that start in the same slot of time. Slices of runs are stored in
// the table `run_slices`. They are valid for one version of the run: triggers give a run a new version if its spans change.

/** Max entries of a list in the figures of a group, such as its traces. */
export const maxListed = 100;

/** Length of a slot. Buckets whose length is a multiple of it consist of whole slices. */
export const slotSeconds = 300;

/** Max pause that the columns `rough_*` join. They are read for groups of which one part of `activity` is longer than this. */
export const maxPauseUs = 30_000_000;

/** The column of the group in which the parents of spans are searched; undefined: among all selected spans. */
export type Within = 'run_id' | 'thread_id' | undefined;

/** A condition for root spans: those without a parent in the group. */
const isRoot = (within: Within): string => `NOT EXISTS (
        SELECT FROM chosen AS parent
        WHERE parent.trace_id = spans.trace_id AND parent.span_id = spans.parent_span_id
          ${within ? `AND parent.${within} = spans.${within}` : ''})`;

/** The distinct values of a column as a list. */
const distinct = (column: string, condition = `${column} IS NOT NULL`): string =>
  `array_agg(DISTINCT ${column} COLLATE "C") FILTER (WHERE ${condition})`;

// SQL about a span. Active spans are those of models and tools.
const failed = `status = 'error'`;
const isActive = `kind IN ('llm', 'tool')`;
/** The state of a span for `activity`: 1 model call, 2 tool call, 3 failed call of either, 4 other failed span. */
const state = `CASE WHEN ${failed} THEN CASE WHEN ${isActive} THEN 3 ELSE 4 END WHEN kind = 'tool' THEN 2 ELSE 1 END`;
/** The values of a column in active or failed spans. */
const active = (column: string): string => `array_agg(${column}) FILTER (WHERE ${isActive} OR ${failed})`;

/** Columns that `run_slices` and `counted_slices` have in common. */
const columns = `run_id, thread_id, slot_us, first_us, last_us, finish_us, spans, errors, calls, call_ms, cost, input_tokens,
      output_tokens, root_failed, last_id, last_failed, trace_ids, request_models, used_models, used_tools, labels, error_texts,
      findings, root_starts, root_ids, root_operation, active_from, active_to, active_states,
      rough_from, rough_to, rough_states`;

/**
 * The slices of the spans that meet a condition, as the CTE `counted_slices`. Overlapping times of the same state are joined
 * (`active_*`), and again over short pauses (`rough_*`).
 * @param seconds length of a slot
 * @returns text that follows `WITH RECURSIVE`
 */
const countedSlices = (condition: string, within: Within, seconds = slotSeconds): string => `
    ${billableSpans(condition, within)}, unjoined AS (
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
      SELECT * FROM unjoined,
        LATERAL (${joined('starts, ends, states')}) AS active (active_from, active_to, active_states),
        LATERAL (${joined('active_from, active_to, active_states', maxPauseUs)}) AS rough (rough_from, rough_to, rough_states)
    )`;

/** Joins times of the same state that overlap, or have a shorter pause than `pauseUs` between them. */
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

/** The stored slices that belong to the current version of their run. */
const validSlices = `run_slices AS slice JOIN run_figures AS run USING (project, run_id, version)`;

/** A condition on slices: those of runs with a slice in a range. `slot_us` may be up to a slot before the spans. */
const ofRunsIn = (
  { project, startUs = 0, endUs = latestUs }: NonNullable<SliceQuery['range']>,
  values: SqlValues,
): string => `run_id = ANY (ARRAY(
      SELECT DISTINCT run_id FROM run_slices
      WHERE project = ${values.add(project)}
        AND slot_us BETWEEN ${values.add(startUs - slotSeconds * 1_000_000)} AND ${values.add(endUs)}
    ))`;

/** The slices that a statement reads. */
export interface SliceQuery {
  readonly filter: SpanFilter;
  /** Runs whose spans the statement counts itself; of other runs it reads stored slices. Undefined: it counts all spans. */
  readonly runsCountedNow?: readonly string[] | undefined;
  /** Limits the stored slices to runs with a slice in this range. */
  readonly range?: Pick<SpanFilter, 'project' | 'startUs' | 'endUs'> | undefined;
  readonly within: Within;
  /** Length of a slot of slices that are counted now; default: `slotSeconds`. */
  readonly seconds?: number | undefined;
}

/** The slices as the CTE `slices`. @returns text that follows `WITH RECURSIVE` */
export function selectSlices(
  { filter, runsCountedNow, range, within, seconds }: SliceQuery,
  values: SqlValues,
): string {
  const counted = (ofRuns = ''): string =>
    countedSlices(`${conditionOf(filter, values)}${ofRuns}`, within, seconds);
  if (!runsCountedNow) return `${counted()}, slices AS (SELECT ${columns} FROM counted_slices)`;
  const { project, runIds, threadIds, startUs, endUs, runKind } = filter;
  const runs = values.add([...runsCountedNow]);
  const conditions = [`project = ${values.add(project)}`, `run_id <> ALL (${runs}::text[])`];
  const addCondition = (comparison: string, value: unknown): void => {
    if (value !== undefined) conditions.push(comparison.replace('?', () => values.add(value)));
  };
  addCondition('run_id = ANY (?::text[])', runIds);
  addCondition('thread_id = ANY (?::text[])', threadIds);
  addCondition('first_us >= ?', startUs);
  addCondition('last_us <= ?', endUs);
  if (runKind) conditions.push(isOfKind(runKind));
  if (range) conditions.push(ofRunsIn(range, values));
  const stored = `SELECT ${columns} FROM ${validSlices} WHERE ${conditions.join(' AND ')}`;
  if (runsCountedNow.length === 0) return `slices AS (${stored})`;
  return `${counted(` AND run_id = ANY (${runs}::text[])`)}, slices AS (
      ${stored} UNION ALL SELECT ${columns} FROM counted_slices
    )`;
}

/** A condition on the runs whose stored slices a statement reads; undefined: none. */
export type RunsRead = ((values: SqlValues) => string) | undefined;

/** A run whose current version is not counted. */
export interface UncountedRun {
  readonly project: string;
  /** The run's id. */
  readonly key: string;
  readonly version: string;
  /** Whether the run lost spans. */
  readonly unsettled: boolean;
}

/**
 * Runs that must be counted before their slices are read: uncounted ones of those that a statement reads, and runs that lost
 * spans.
 * @param project undefined: all projects
 */
export const selectUncounted = (project: string | undefined, read: RunsRead, limit: number): Statement =>
  statement((values) => {
    const runsWith = (condition: string): string => `
    SELECT project, run_id AS key, version, start_us IS NULL AS unsettled FROM run_figures AS run
    WHERE ${project === undefined ? 'true' : `project = ${values.add(project)}`} AND ${condition}`;
    const wanted = read ? `UNION ${runsWith(`${read(values)} AND counted IS DISTINCT FROM version`)}` : '';
    return `${runsWith('start_us IS NULL')} ${wanted} ORDER BY project, key LIMIT ${values.add(limit)}`;
  });

/**
 * Stores the slices of runs, and deletes slices of their other versions. Replicas may count the same runs at the same time:
 * locked rows are skipped, and slices that exist are kept.
 */
export const countSlices = (project: string, runIds: readonly string[]): Statement =>
  statement((values) => {
    const condition = conditionOf({ project, runIds }, values);
    const ofProject = `project = ${values.add(project)}`;
    return `
    WITH RECURSIVE ${countedSlices(condition, 'run_id')}, old AS (
      SELECT slice.ctid FROM run_slices AS slice JOIN run_figures AS run USING (project, run_id)
      WHERE ${condition} AND slice.version <> run.version
      FOR UPDATE OF slice SKIP LOCKED
    ), deleted AS (
      DELETE FROM run_slices WHERE ctid = ANY (ARRAY(SELECT ctid FROM old))
    )
    INSERT INTO run_slices (project, version, ${columns})
    SELECT project, version, ${columns} FROM counted_slices JOIN (SELECT project, run_id, version FROM run_figures WHERE ${ofProject}) AS run USING (run_id)
    ORDER BY run_id, slot_us
    ON CONFLICT DO NOTHING`;
  });

/** Marks unchanged runs as counted, and deletes runs without spans. Skips locked rows: they are being marked or changed. */
export const settleRuns = (
  project: string,
  runs: readonly Pick<UncountedRun, 'key' | 'version'>[],
): Statement => ({
  text: `
    WITH unchanged AS (
      SELECT run_id, version FROM run_figures AS run
      JOIN unnest($2::text[], $3::bigint[]) AS given (run_id, version) USING (run_id, version)
      WHERE project = $1
      FOR UPDATE OF run SKIP LOCKED
    ), figured AS (
      SELECT run_id, min(first_us) AS start_us, sum(spans) AS spans
      FROM unchanged LEFT JOIN (SELECT * FROM run_slices WHERE project = $1) AS slice USING (run_id, version)
      GROUP BY run_id
    ), deleted AS (
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
 * Runs whose stored slices a statement cannot use:
 * - uncounted runs
 * - runs that share a trace with another run, because their spans may report the same model call
 * - for groups by thread: runs with a trace in several threads, for the same reason
 * - for groups by time: runs with a slice that is partly outside of the range or of a bucket
 */
export const selectRunsToCountNow = (
  { filter, range, within }: SliceQuery,
  uncounted: readonly string[],
  bucketSeconds?: number,
): Statement =>
  statement((values) => {
    const { project } = filter;
    const ofUncounted = { project, runIds: uncounted };
    const hasSeveralThreads = `min(coalesce(thread_id, '')) <> max(coalesce(thread_id, '')) OR bool_or(thread_id IS NULL) <> bool_and(thread_id IS NULL)`;
    return `
    WITH stored AS MATERIALIZED (
      SELECT run_id, thread_id, first_us, last_us, trace_ids FROM ${validSlices}
      WHERE project = ${values.add(project)} ${range ? `AND ${ofRunsIn(range, values)}` : ''}
    ), traces AS (
      SELECT run_id, thread_id, unnest(trace_ids) AS trace_id FROM stored
      ${uncounted.length > 0 ? `UNION ALL SELECT DISTINCT run_id, NULL, trace_id FROM all_spans WHERE ${conditionOf(ofUncounted, values)}` : ''}
    )
    SELECT DISTINCT unnest(runs) AS key FROM (
      SELECT array_agg(run_id) AS runs FROM traces
      GROUP BY trace_id HAVING min(run_id COLLATE "C") <> max(run_id COLLATE "C") ${within ? `OR ${hasSeveralThreads}` : ''}
    ) AS shared
    UNION SELECT unnest(${values.add([...uncounted])}::text[])
    ${within ? '' : `UNION SELECT run_id FROM stored GROUP BY run_id HAVING ${isPartlyIn(filter, bucketSeconds, values)}`}`;
  });

/** A condition on a run in the range: some of its spans are outside of the range, or a slice has spans of two buckets. */
function isPartlyIn(
  { startUs = 0, endUs = latestUs }: SpanFilter,
  bucketSeconds: number | undefined,
  values: SqlValues,
): string {
  const [from, to, size] = [values.add(startUs), values.add(endUs), (bucketSeconds ?? 0) * 1_000_000];
  const orInTwoBuckets = size > 0 ? `OR bool_or(first_us / ${size} <> last_us / ${size})` : '';
  return `min(first_us) <= ${to} AND max(last_us) >= ${from} AND (min(first_us) < ${from} OR max(last_us) > ${to} ${orInTwoBuckets})`;
}
