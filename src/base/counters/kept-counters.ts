import type { DataSource } from 'typeorm';
import { storableJson } from '../common/pg-text.js';
import { WriteBehind } from '../common/write-behind.js';
import { retryAtStart } from '../database/transient-error.js';
import type { Counter, CounterKey, LocalCounters, StoredCounter } from './counters.js';

/** Delay of a write. */
const delayMs = 1_000;
/** Max counters that a start reads. */
const maxRead = 100_000;

/** Statement that stores counters; the last one of a key counts. An operator's limit stays until the subject's reset. */
const insertAll = `
  INSERT INTO call_counters AS c (kind, project, subject, name, used, own_limit, resets_at, used_at)
  SELECT DISTINCT ON (1, 2, 3, 4) kind, project, subject, name, used, own,
    to_timestamp(resets / 1000), to_timestamp(called / 1000)
  FROM ROWS FROM (
    json_to_recordset($1::json)
      AS (kind text, project text, subject text, name text, used int, own int, resets float8, called float8)
  ) WITH ORDINALITY AS changed (kind, project, subject, name, used, own, resets, called, place)
  ORDER BY 1, 2, 3, 4, place DESC
  ON CONFLICT (kind, project, subject, name) DO UPDATE SET
    used = excluded.used, own_limit = excluded.own_limit, used_at = excluded.used_at,
    set_limit = CASE WHEN c.resets_at > now() THEN c.set_limit END, resets_at = excluded.resets_at`;

const selectLive = `
  SELECT kind, project, subject, name, used, set_limit AS "limit",
    (extract(epoch FROM resets_at) * 1000)::float8 AS "resetsAt"
  FROM call_counters WHERE kind = 'budget' AND resets_at > now() ORDER BY used_at DESC LIMIT ${maxRead}`;

/** Statement that deletes counters whose time is over. */
export const deleteOld = "DELETE FROM call_counters WHERE resets_at < now() - interval '1 minute'";

/** A counter as `insertAll` reads it. */
const rowOf = ({ key, owner, used, ownLimit: own, usedAt: called }: Counter) => {
  return { ...key, used, own, resets: owner.resetsAt, called };
};

/** Stores the counters of budgets a second later in the database, so that they survive a restart. */
export class KeptCounters extends WriteBehind<Counter> {
  constructor(
    private readonly local: LocalCounters,
    private readonly db: DataSource,
  ) {
    const rowStore = {
      insert: (changed: readonly Counter[]) => db.query(insertAll, [storableJson(changed.map(rowOf))]),
      deleteOlder: () => db.query(deleteOld),
    };
    super('budgets', local.changes, rowStore, 0, delayMs);
    local.store = () => this.flush();
  }

  override async onModuleInit(): Promise<void> {
    const rows = await retryAtStart(() => this.db.query<(CounterKey & StoredCounter)[]>(selectLive));
    // The last used one last, because the least recently set ones are evicted first.
    for (const row of rows.reverse()) this.local.set(row, row);
    void super.onModuleInit();
  }
}
