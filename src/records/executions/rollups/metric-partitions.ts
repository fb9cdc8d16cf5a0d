import type { DataSource } from 'typeorm';
import { dayMs } from '../../../base/common/clock.js';
import { DayPartitions } from '../../../base/database/day-partitions.js';
import { callerCellLengths, codeCellLength } from './callers.sql.js';

const daySeconds = dayMs / 1_000;
/** Max executions outside of all partitions that are counted. */
const maxCountedInDefault = 10_000;

/** Deletes the tools that were last executed before $1, the start of a day. Rows that are being updated are skipped. */
const forgetTools = `
  WITH unused AS MATERIALIZED (
    SELECT tool_name, is_test FROM tool_last_days WHERE day < $1 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM tool_last_days AS known
  USING unused
  WHERE known.tool_name = unused.tool_name AND known.is_test = unused.is_test`;

/** Deletes the cells of callers before $1. All lengths are named, because they begin the primary key. */
const deleteCallerCells = `
  DELETE FROM tool_caller_rollups
  WHERE seconds IN (${[codeCellLength, ...callerCellLengths].join(', ')}) AND starts_at < $1`;

/** The daily partitions (UTC) of tool_metrics and tool_metric_rollups. */
export class MetricPartitions {
  private readonly partitions: DayPartitions;

  constructor(private readonly db: DataSource) {
    this.partitions = new DayPartitions(db, ['tool_metrics', 'tool_metric_rollups']);
  }

  /** Creates the partitions of today and the following days. @returns the number of new partitions */
  async makeAhead(days: number): Promise<number> {
    let made = 0;
    for (let ahead = 0; ahead <= days; ahead += 1) {
      const day = new Date(Date.now() + ahead * dayMs).toISOString().slice(0, 10);
      const isNew = await this.partitions.locking(async (db) => {
        const makeDay = 'SELECT make_tool_metrics_day($1::date) AS made';
        const [row] = await db.query<{ made: boolean }[]>(makeDay, [day]);
        return row?.made ?? false;
      });
      if (isNew) made += 1;
    }
    return made;
  }

  /** Number of executions outside all partitions, counted up to a limit. */
  async countInDefault(): Promise<number> {
    const [row] = await this.db.query<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM (SELECT FROM tool_metrics_default LIMIT ${maxCountedInDefault}) AS stray`,
    );
    return row?.n ?? 0;
  }

  /** Deletes the days (UTC) before a time, with their rollups. @returns number of deleted executions */
  async dropBefore(moment: Date): Promise<number> {
    const firstKept = Math.floor(moment.getTime() / dayMs) * dayMs;
    let removed = 0;
    for (const day of await this.partitions.days()) if (day < firstKept) removed += await this.drop(day);
    removed += await this.emptyDefault(new Date(firstKept));
    await this.db.query(forgetTools, [new Date(firstKept)]);
    await this.db.query(deleteCallerCells, [new Date(firstKept)]);
    await this.db.query('DELETE FROM call_runs WHERE last_ms < $1', [firstKept]);
    return removed;
  }

  /** Drops a day. @returns its number of executions, read from the rollups */
  private drop(day: number): Promise<number> {
    return this.partitions.drop(day, async (db, suffix) => {
      await db.query('SELECT mark_runs_of_day($1)', [`tool_metrics_${suffix}`]);
      const [row] = await db.query<{ n: number }[]>(
        `SELECT coalesce(sum(calls), 0)::int AS n FROM tool_metric_rollups_${suffix} WHERE seconds = ${daySeconds}`,
      );
      return row?.n ?? 0;
    });
  }

  /** Deletes executions of days without a partition, and their rollups. A rollup spans at most a day, so none is divided. */
  private async emptyDefault(firstKept: Date): Promise<number> {
    return this.partitions.locking(async (db) => {
      const tables = 'tool_metrics_default, tool_metric_rollups_default';
      await db.query(`LOCK TABLE ${tables} IN SHARE ROW EXCLUSIVE MODE`);
      await db.query('DELETE FROM tool_metric_rollups_default WHERE starts_at < $1', [firstKept]);
      const deleteRows = 'DELETE FROM tool_metrics_default WHERE recorded_at < $1';
      const [, deleted] = await db.query<[unknown, number]>(deleteRows, [firstKept]);
      return deleted;
    });
  }
}
