import { type Statement, type SqlValues, statement } from '../../../base/database/statement.js';
import type { GroupFilter } from './groups.sql.js';
import { conditionOf, isOfKind, type Page, type SpanFilter } from './span-filter.sql.js';

/** A run of a page. */
export interface RunRow<Figures> {
  /** Null in the only row of an empty page. */
  readonly key: string | null;
  readonly version: string;
  /** Null if the run has changed since they were counted. */
  readonly figures: Figures | null;
  /** Number of runs on all pages. */
  readonly total: number;
  /** Some run of the project lost spans: it must be counted before the order of the list is right. */
  readonly unsettled: boolean;
  /** The figures of some run are not stored: whether it meets conditions is not known. */
  readonly marked: boolean;
}

/** Runs of which a span matches. */
function runsOf({ runIds, ...filter }: SpanFilter, values: SqlValues): string {
  const { project, runKind, ...narrower } = filter;
  const ofProject = conditionOf({ project, ...(runIds && { runIds }) }, values);
  const ofKind = runKind ? `AND ${isOfKind(runKind)}` : '';
  if (Object.keys(narrower).length === 0) return `${ofProject} ${ofKind}`;
  const spans = conditionOf({ project, ...narrower }, values);
  return `${ofProject} ${ofKind} AND run_id = ANY (ARRAY(SELECT DISTINCT run_id FROM all_spans WHERE ${spans}))`;
}

/** Conditions of a run as a whole on its figures. */
function holds({ status, failed, ...limits }: GroupFilter, values: SqlValues): string {
  const figure = (name: string): string => `(figures->>'${name}')::numeric`;
  const compared = [
    ["figures->>'status' =", status],
    ["(figures->>'has_errors')::boolean =", failed],
    ["(figures->>'has_errors')::boolean =", limits.hasErrors],
    [`${figure('duration_ms')} >=`, limits.minDurationMs],
    [`${figure('duration_ms')} <=`, limits.maxDurationMs],
    [`${figure('cost')} >=`, limits.minCost],
    [`${figure('cost')} <=`, limits.maxCost],
  ] as const;
  return compared
    .flatMap(([comparison, value]) => (value === undefined ? [] : `AND ${comparison} ${values.add(value)}`))
    .join(' ');
}

/** One page of runs of which a span matches and whose figures meet conditions, the newest first. */
export const selectRuns = (filter: SpanFilter, groups: GroupFilter, page: Page): Statement =>
  statement((values) => {
    const runs = runsOf(filter, values);
    const wanted = `${runs} ${holds(groups, values)}`;
    return `
    SELECT key, version, figures, total, unsettled, marked
    FROM (
      SELECT (SELECT count(*)::int FROM run_figures WHERE ${wanted}) AS total,
             EXISTS (SELECT FROM run_figures WHERE project = ${values.add(filter.project)} AND start_us IS NULL) AS unsettled,
             EXISTS (SELECT FROM run_figures WHERE ${runs} AND figures IS NULL) AS marked
    ) AS whole LEFT JOIN (
      SELECT run_id AS key, version, figures, start_us
      FROM run_figures
      WHERE ${wanted}
      ORDER BY start_us DESC, run_id
      LIMIT ${values.add(page.limit)} OFFSET ${values.add(page.offset)}
    ) AS page ON true
    ORDER BY start_us DESC, key`;
  });

/** Marked runs of a filter by id, from the one after `key` on. */
export const selectMarked = (filter: SpanFilter, key: string, limit: number): Statement =>
  statement(
    (values) => `
    SELECT run_id AS key, version FROM run_figures
    WHERE ${runsOf(filter, values)} AND figures IS NULL AND run_id > ${values.add(key)}
    ORDER BY run_id LIMIT ${values.add(limit)}`,
  );

/** Runs that lost spans, of all projects unless one is named. */
export const selectUnsettled = (project: string | undefined, limit: number): Statement =>
  statement(
    (values) => `
    SELECT project, run_id AS key, version FROM run_figures
    WHERE start_us IS NULL ${project === undefined ? '' : `AND project = ${values.add(project)}`}
    ORDER BY project LIMIT ${values.add(limit)}`,
  );

/**
 * Stores figures that were counted of runs, unless these have changed since; a run without spans goes. Others may store or
 * mark them at the same time: none waits.
 */
export const storeRuns = (
  project: string,
  runs: readonly { key: string | null; version: string }[],
  figures: ReadonlyMap<string, object>,
): Statement => ({
  text: `
    WITH counted AS (
      SELECT run.run_id, counted.figures
      FROM run_figures AS run
      JOIN unnest($2::text[], $3::bigint[], $4::json[]) AS counted (run_id, version, figures) USING (run_id, version)
      WHERE project = $1
      FOR UPDATE OF run SKIP LOCKED
    ), gone AS (
      DELETE FROM run_figures AS run USING counted
      WHERE project = $1 AND run.run_id = counted.run_id AND counted.figures IS NULL
    )
    UPDATE run_figures AS run
    SET figures = counted.figures, start_us = (counted.figures->>'start_time_us')::numeric,
        is_agent = (counted.figures->>'total_spans')::int > 1
          OR EXISTS (SELECT FROM spans WHERE spans.project = $1 AND spans.run_id = run.run_id)
    FROM counted
    WHERE project = $1 AND run.run_id = counted.run_id AND counted.figures IS NOT NULL`,
  values: [
    project,
    runs.map(({ key }) => key),
    runs.map(({ version }) => version),
    runs.map(({ key }) => (key !== null && figures.has(key) ? JSON.stringify(figures.get(key)) : null)),
  ],
});
