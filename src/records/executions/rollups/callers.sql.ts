/** Name of the row that sums all callers beyond the cap. */
export const otherCallers = 'other';

/** Lengths of the cells in which calls are counted by caller, in seconds. */
export const callerCellLengths = [3_600, 86_400] as const;

/** Length of the cells in which refusals are counted by code, in seconds. They have the code in the column of the caller. */
export const codeCellLength = 300;

/** Primary key of tool_caller_rollups. */
const key = 'seconds, starts_at, tool_name, project, caller, writer';
/** SQL for the start of the cell that a time belongs to. */
const cellStart = `date_bin(seconds * interval '1 second', at, '1970-01-01 00:00:00+00')`;

/** Adds rows (seconds, at, tool_name, project, caller, calls, failures, refusals), sorted so that writers do not deadlock. */
const addToCells = (rows: string, writer: string): string => `
  INSERT INTO tool_caller_rollups AS cell (${key}, calls, failures, refusals)
  SELECT seconds, ${cellStart} AS starts_at, tool_name, project, caller, ${writer}, sum(calls), sum(failures), sum(refusals)
  FROM (${rows}) AS rows
  GROUP BY 1, 2, 3, 4, 5
  ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT (${key}) DO UPDATE SET
    calls = cell.calls + excluded.calls,
    failures = cell.failures + excluded.failures,
    refusals = cell.refusals + excluded.refusals`;

/**
 * Counts the rows of `counted` by caller; test calls are left out.
 * @param writer SQL for the writer's slot
 * @param others SQL for the ids of executions whose callers are beyond the cap
 */
export const countCallers = (writer: string, others: string): string =>
  addToCells(
    `SELECT seconds, date_bin('1 hour', recorded_at, '1970-01-01 00:00:00+00') AS at, tool_name, project,
            CASE WHEN cardinality(${others}::uuid[]) > 0 AND metric_id IN (SELECT unnest(${others}::uuid[])) THEN '${otherCallers}' ELSE user_id END AS caller,
            count(*) AS calls, count(*) FILTER (WHERE status <> 'success') AS failures, 0 AS refusals
     FROM counted CROSS JOIN (VALUES ${callerCellLengths.map((seconds) => `(${seconds})`).join(', ')}) AS lengths (seconds)
     WHERE NOT is_test
     GROUP BY 1, 2, 3, 4, 5`,
    writer,
  );

/** Adds refusals to the rollups. Parameters: times, tools, projects, callers, codes, refusals, the writer's slot. */
export const addRefusals = addToCells(
  `SELECT *, 0 AS calls, 0 AS failures
   FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
     AS refused (at, tool_name, project, by, code, refusals)
     CROSS JOIN LATERAL (VALUES ${callerCellLengths.map((seconds) => `(${seconds}, by)`).join(', ')}, (${codeCellLength}, code)) AS cells (seconds, caller)`,
  '$7::int',
);

/** Refusals of each tool by code, most frequent first. Parameters: since when, projects or null. */
export const selectRefusals = `
  SELECT tool, json_agg(json_build_object('code', code, 'count', count) ORDER BY count DESC, code) AS counts
  FROM (
    SELECT tool_name AS tool, caller AS code, sum(refusals)::int AS count
    FROM tool_caller_rollups
    WHERE seconds = ${codeCellLength} AND starts_at > $1 AND ($2::text[] IS NULL OR project = ANY ($2))
    GROUP BY 1, 2
  ) AS refused
  GROUP BY tool`;
