import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { sqlStateOf } from './transient-error.js';

/** Timeout for locks, with retries: a statement that waits for a lock blocks all later ones. */
const lockTimeout = '200ms';
const maxTries = 50;
/** Max pause between two tries; its length is random. */
const maxPauseMs = 100;
/** SQLSTATEs of an unavailable lock and of a deadlock. */
const contended = new Set(['55P03', '40P01']);
const undefinedTable = '42P01';

/** Daily partitions (UTC) of related tables, such as `<table>_20260123`. */
export class DayPartitions {
  constructor(
    private readonly db: DataSource,
    private readonly tables: readonly [string, ...string[]],
  ) {}

  /** Starts of the days that have partitions, milliseconds since the epoch, oldest first. */
  async days(): Promise<number[]> {
    const [table] = this.tables;
    const rows = await this.db.query<{ name: string }[]>(
      `SELECT relname AS name
       FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
       WHERE inhparent = $1::regclass AND relname ~ ('^' || $1 || '_\\d{8}$')
       ORDER BY relname`,
      [table],
    );
    return rows.map(({ name }) => Date.parse(name.replace(/^.*_(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3T00:00:00Z')));
  }

  /**
   * Drops a day's partition. Only writers to that day wait.
   * @param count prepares the drop in the same transaction, and counts the dropped rows; `suffix`: that of the day's tables
   */
  drop(day: number, count: (db: EntityManager, suffix: string) => Promise<number>): Promise<number> {
    const suffix = new Date(day).toISOString().slice(0, 10).replaceAll('-', '');
    return this.locking(async (db) => {
      await db.query(`LOCK TABLE ${this.tables[0]}_${suffix} IN SHARE ROW EXCLUSIVE MODE`);
      const rows = await count(db, suffix);
      for (const table of this.tables) await db.query(`DROP TABLE ${table}_${suffix}`);
      return rows;
    });
  }

  /** Runs a transaction, and repeats it while others hold its locks. @returns 0 if another replica has dropped the table */
  async locking<T extends number | boolean>(work: (db: EntityManager) => Promise<T>): Promise<T | 0> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.db.transaction(async (db) => {
          await db.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
          return work(db);
        });
      } catch (error) {
        const state = sqlStateOf(error);
        if (state === undefinedTable) return 0;
        if (state === undefined || !contended.has(state) || attempt === maxTries) throw error;
        await delay(maxPauseMs * Math.random());
      }
    }
  }
}
