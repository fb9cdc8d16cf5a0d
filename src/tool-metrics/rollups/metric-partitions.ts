import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { cellsOfShorter, minutesOfRows, rollUp, spans } from './rollup.sql.js';

const dayMs = 86_400_000;
const longest = 86_400 satisfies (typeof spans)[number];
/** Whoever waits for a lock holds up everyone behind; so it waits shortly, and often. */
const lockTimeout = '200ms';
const tries = 50;
const pauseMs = 100;
/** lock not available, deadlock */
const contended = new Set(['55P03', '40P01']);
const undefinedTable = '42P01';
const defaultCounted = 10_000;

/** A day's start: tools that were last executed before it. Who is being noted again meanwhile is not waited for. */
const forgetTools = `
  WITH gone AS MATERIALIZED (
    SELECT tool_name, is_test FROM tool_last_days WHERE day < $1 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM tool_last_days AS known
  USING gone
  WHERE known.tool_name = gone.tool_name AND known.is_test = gone.is_test`;

/** The days that tool_metrics and tool_metric_rollups are divided into (UTC). */
export class MetricPartitions {
  constructor(private readonly db: DataSource) {}

  /** Makes the partitions of today and so many days after it. @returns how many days were new */
  async makeAhead(days: number): Promise<number> {
    let made = 0;
    for (let ahead = 0; ahead <= days; ahead += 1) {
      const day = new Date(Date.now() + ahead * dayMs).toISOString().slice(0, 10);
      const isNew = await this.locking(async (db) => {
        const [row] = await db.query<{ made: boolean }[]>('SELECT make_tool_metrics_day($1::date) AS made', [
          day,
        ]);
        return row?.made ?? false;
      });
      if (isNew) made += 1;
    }
    return made;
  }

  /** Executions that belong to no day that was made: at most 10,000 are counted. */
  async countInDefault(): Promise<number> {
    const [row] = await this.db.query<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM (SELECT FROM tool_metrics_default LIMIT ${defaultCounted}) AS stray`,
    );
    return row?.n ?? 0;
  }

  /** Removes every execution before a moment and what was counted of it. @returns how many those were */
  async removeBefore(cut: Date): Promise<number> {
    let removed = 0;
    for (const day of await this.days()) {
      if (day + dayMs <= cut.getTime()) removed += await this.drop(suffixOf(day));
      else if (day < cut.getTime()) removed += await this.trim(suffixOf(day), cut);
    }
    removed += await this.trimDefault(cut);
    await this.db.query(forgetTools, [new Date(Math.floor(cut.getTime() / dayMs) * dayMs)]);
    return removed;
  }

  /** Starts of the days that have partitions, oldest first. */
  private async days(): Promise<number[]> {
    const rows = await this.db.query<{ name: string }[]>(`
      SELECT relname AS name
      FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'tool_metrics'::regclass AND relname ~ '^tool_metrics_\\d{8}$'
      ORDER BY relname`);
    return rows.map(({ name }) => Date.parse(name.replace(/^.*_(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3T00:00:00Z')));
  }

  private async drop(day: string): Promise<number> {
    return this.locking(async (db) => {
      // Late executions of this day wait; everybody else goes on. Its cells know how many there are without reading them.
      await db.query(`LOCK TABLE tool_metrics_${day} IN SHARE ROW EXCLUSIVE MODE`);
      const [row] = await db.query<{ n: number }[]>(
        `SELECT coalesce(sum(calls), 0)::int AS n FROM tool_metric_rollups_${day} WHERE seconds = ${longest}`,
      );
      await db.query(`DROP TABLE tool_metrics_${day}`);
      await db.query(`DROP TABLE tool_metric_rollups_${day}`);
      return row?.n ?? 0;
    });
  }

  /** The day that the moment lies in: what is older goes by rows, and each cell that it cuts is counted anew. */
  private async trim(day: string, cut: Date): Promise<number> {
    return this.locking(async (db) => {
      const [rows, cells] = [`tool_metrics_${day}`, `tool_metric_rollups_${day}`];
      await db.query(`LOCK TABLE ${rows}, ${cells} IN SHARE ROW EXCLUSIVE MODE`);
      const deleted = await deleteOlder(db, rows, cut);
      if (deleted > 0) await recount(db, rows, cells, cut);
      return deleted;
    });
  }

  /** Few executions are there, of any day: their cells are counted anew as a whole. */
  private async trimDefault(cut: Date): Promise<number> {
    return this.locking(async (db) => {
      await db.query(
        'LOCK TABLE tool_metrics_default, tool_metric_rollups_default IN SHARE ROW EXCLUSIVE MODE',
      );
      const deleted = await deleteOlder(db, 'tool_metrics_default', cut);
      if (deleted === 0) return 0;
      await db.query('DELETE FROM tool_metric_rollups_default');
      await db.query(rollUp(minutesOfRows('tool_metrics_default'), '0'));
      return deleted;
    });
  }

  /** One transaction, again while others hold what it needs. A table that another replica dropped counts nothing. */
  private async locking<T extends number | boolean>(work: (db: EntityManager) => Promise<T>): Promise<T | 0> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.db.transaction(async (db) => {
          await db.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
          return work(db);
        });
      } catch (error) {
        const state = sqlState(error);
        if (state === undefinedTable) return 0;
        if (!contended.has(state) || attempt === tries) throw error;
        await delay(pauseMs * Math.random());
      }
    }
  }
}

async function deleteOlder(db: EntityManager, table: string, cut: Date): Promise<number> {
  const [, deleted] = await db.query<[unknown, number]>(`DELETE FROM ${table} WHERE recorded_at < $1`, [cut]);
  return deleted;
}

/** Cells that end before the moment go; the one it lies in, of each length, counts what is left of it. */
async function recount(db: EntityManager, rows: string, cells: string, cut: Date): Promise<void> {
  let shorter: number | undefined;
  for (const seconds of spans) {
    const ms = seconds * 1_000;
    const start = Math.floor(cut.getTime() / ms) * ms;
    const [from, to] = [new Date(start), new Date(start + ms)];
    await db.query(`DELETE FROM ${cells} WHERE seconds = $1 AND starts_at < $2`, [
      seconds,
      start < cut.getTime() ? to : from,
    ]);
    if (start < cut.getTime()) {
      if (shorter === undefined) {
        const rest = `(SELECT * FROM ${rows} WHERE recorded_at < $1) AS rest`;
        await db.query(rollUp(minutesOfRows(rest), '0', [seconds]), [to]);
      } else {
        await db.query(cellsOfShorter(shorter), [seconds, from, to]);
      }
    }
    shorter = seconds;
  }
}

const suffixOf = (day: number): string => new Date(day).toISOString().slice(0, 10).replaceAll('-', '');

function sqlState(error: unknown): string {
  const { driverError } = error as { driverError?: { code?: unknown } };
  return typeof driverError?.code === 'string' ? driverError.code : '';
}
