import { hourMs } from '../../../base/common/clock.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import { type Statement, statement } from '../../../base/database/statement.js';
import { callerCellLengths } from '../rollups/callers.sql.js';
import { countedColumns, isCounted, periodParts } from '../rollups/rollup.sql.js';
import type { CallersQuery } from '../tool-metrics.dto.js';

/** The calls to count. Time bounds are inclusive, and rounded to hours if cells are read. By default calls of all projects. */
export interface CallersFilter extends Required<Pick<CallersQuery, 'by' | 'since' | 'until' | 'limit'>> {
  readonly tool?: string | undefined;
  readonly projects?: readonly string[] | undefined;
}

/** Whether calls are counted from executions, because the cells of the rollups do not have this member. */
export const isCountedFromExecutions = (by: CallersQuery['by']): boolean =>
  by === 'investigation' || by === 'revision';

/** Calls, failures and refusals by a member; most failures first. Investigations are grouped by project, too. */
export const selectCallers = ({ by, tool, projects, since, until, limit }: CallersFilter): Statement =>
  statement((values) => {
    const within = (time: string, from: number, to: number): string =>
      `${time} >= ${values.add(new Date(from))} AND ${time} < ${values.add(new Date(to))}`;
    const startOfHour = (time: Date): number => Math.floor(time.getTime() / hourMs) * hourMs;
    const cells = (): string[] => {
      const end = startOfHour(until) + hourMs - 1;
      const parts = periodParts(new Date(startOfHour(since)), new Date(end), callerCellLengths);
      return parts.cells.map(
        ({ seconds, from, to }) => `seconds = ${seconds} AND ${within('starts_at', from, to)}`,
      );
    };
    const counted = isCountedFromExecutions(by)
      ? `SELECT ${countedColumns}, investigation_id AS investigation, metadata->>'revision' AS revision,
                1 AS calls, (status <> 'success')::int AS failures, NULL::int AS refusals
         FROM tool_metrics WHERE ${isCounted} AND ${within('recorded_at', since.getTime(), until.getTime() + 1)}`
      : `SELECT * FROM tool_caller_rollups WHERE ${cells().join(' OR ')}`;
    return `
    SELECT ${by} COLLATE "C" AS name, ${by === 'investigation' ? 'project' : 'NULL'} AS project, sum(calls)::float8 AS calls,
           sum(failures)::float8 AS failures, sum(refusals)::float8 AS refusals
    FROM (${counted}) AS counted
    WHERE true ${tool === undefined ? '' : `AND tool_name = ${values.add(sanitisedText(tool))}`}
      ${projects ? `AND project = ANY (${values.add(projects.map(sanitisedText))}::text[])` : ''}
    GROUP BY 1, 2
    ORDER BY failures DESC, refusals DESC, calls DESC, name, project
    LIMIT ${values.add(limit)}`;
  });
