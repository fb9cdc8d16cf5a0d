import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';

const dayMs = 86_400_000;
const daySeconds = dayMs / 1_000;
/** A statement that waits for a lock holds up all behind it; so it waits shortly, and often. */
const lockTimeout = '200ms';
const tries = 50;
const pauseMs = 100;
/** lock not available, deadlock */
const contended = new Set(['55P03', '40P01']);
const undefinedTable = '42P01';
const defaultCounted = 10_000;

/**
 * A day's start: tools that were last executed before it. A tool that is being noted again meanwhile is not waited
 * for.
 */
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

  /**
   * Removes the days (UTC) that had ended at a moment and what was counted of them.
   * @returns how many executions those were
   */
  async dropBefore(moment: Date): Promise<number> {
    const cut = Math.floor(moment.getTime() / dayMs) * dayMs;
    let removed = 0;
    for (const day of await this.days()) if (day < cut) removed += await this.drop(suffixOf(day));
    removed += await this.emptyDefault(new Date(cut));
    await this.db.query(forgetTools, [new Date(cut)]);
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
        `SELECT coalesce(sum(calls), 0)::int AS n FROM tool_metric_rollups_${day} WHERE seconds = ${daySeconds}`,
      );
      await db.query(`DROP TABLE tool_metrics_${day}`);
      await db.query(`DROP TABLE tool_metric_rollups_${day}`);
      return row?.n ?? 0;
    });
  }

  /** Executions whose days were never made. A cell counts a day at most: none is cut. */
  private async emptyDefault(cut: Date): Promise<number> {
    return this.locking(async (db) => {
      await db.query(
        'LOCK TABLE tool_metrics_default, tool_metric_rollups_default IN SHARE ROW EXCLUSIVE MODE',
      );
      await db.query('DELETE FROM tool_metric_rollups_default WHERE starts_at < $1', [cut]);
      const [, deleted] = await db.query<[unknown, number]>(
        'DELETE FROM tool_metrics_default WHERE recorded_at < $1',
        [cut],
      );
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

const suffixOf = (day: number): string => new Date(day).toISOString().slice(0, 10).replaceAll('-', '');

function sqlState(error: unknown): string {
  const { driverError } = error as { driverError?: { code?: unknown } };
  return typeof driverError?.code === 'string' ? driverError.code : '';
}
