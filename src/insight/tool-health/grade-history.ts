import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { keyIn, type Page, pageFrom } from '../../web/rest/page.js';
import type { PageQuery } from '../../web/rest/dto.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import type { GradeChangeView } from './tool-health.dto.js';
import { retryAtStart } from '../../base/database/transient-error.js';
import { type HealthChange, HealthEvents, ToolHealthService } from './tool-health.service.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import { WriteBehind } from '../../base/common/write-behind.js';
import { sanitisedText } from '../../base/common/pg-text.js';

/** A stored change of a grade; `seq` is its sequence number. */
interface GradeChange extends Omit<HealthChange, 'at'> {
  readonly seq: string;
  readonly at: Date;
}

/** Inserts a change. Replicas detect the same change, each in its own minute; only the first one is stored. */
const insert = `
  INSERT INTO grade_changes (tool, from_status, to_status, why, at)
  SELECT $1, $2, $3, $4, to_timestamp($5::float8 / 1000)
  WHERE $3 IS DISTINCT FROM (SELECT to_status FROM grade_changes WHERE tool = $1 ORDER BY seq DESC LIMIT 1)
  RETURNING seq`;

/** A page of changes, newest first. Parameters: tool, seq before which the page begins or null, limit. */
const selectPage = `
  SELECT seq, tool, from_status AS "from", to_status AS "to", why, at
  FROM grade_changes
  WHERE tool = $1 AND ($2::bigint IS NULL OR seq < $2)
  ORDER BY seq DESC
  LIMIT $3`;

/** The last change of each tool. If the tool is not healthy, `at` is the first change of its bad period. */
const selectLast = `
  SELECT tool, to_status AS "to", CASE WHEN to_status IN ('degraded', 'unhealthy') THEN (
    SELECT min(at) FROM grade_changes bad
    WHERE bad.tool = last.tool AND bad.seq > coalesce((
      SELECT max(seq) FROM grade_changes good
      WHERE good.tool = last.tool AND to_status NOT IN ('degraded', 'unhealthy')
    ), 0)
  ) ELSE at END AS at
  FROM (SELECT DISTINCT ON (tool) tool, to_status, at FROM grade_changes ORDER BY tool, seq DESC) AS last`;

/** Deletes changes before a time, except the last one of each tool. Parameter: the time. */
const deleteOlder = `
  DELETE FROM grade_changes old
  WHERE at < $1 AND EXISTS (SELECT FROM grade_changes later WHERE later.tool = old.tool AND later.seq > old.seq)`;

/** Changes of grades, each emitted by the replica that stored it first. */
@Injectable()
export class StoredGrades extends TypedEvents<HealthChange> {
  constructor() {
    const logger = new Logger(StoredGrades.name);
    super((error) => logger.error(error, 'a listener of grades failed'));
  }
}

/** Stores the changes of grades and restores grades after a restart. */
@Injectable()
export class GradeHistory extends WriteBehind<HealthChange> {
  constructor(
    @Inject(APP_CONFIG) { recorder }: AppConfig,
    events: HealthEvents,
    private readonly health: ToolHealthService,
    @InjectDataSource() private readonly db: DataSource,
    stored: StoredGrades,
  ) {
    const storage = {
      insert: async (changes: readonly HealthChange[]) => {
        for (const change of await insertAll(db, changes)) stored.emit(change);
      },
      deleteOlder: (before: Date) => db.query(deleteOlder, [before]),
    };
    super('grade history', events, storage, recorder.retentionDays);
  }

  override async onModuleInit(): Promise<void> {
    void super.onModuleInit();
    const readLast = () => this.db.query<Pick<GradeChange, 'tool' | 'to' | 'at'>[]>(selectLast);
    const last = await retryAtStart(readLast);
    for (const { tool, to, at } of last) this.health.remember(tool, to, at.getTime());
  }

  /** A page of a tool's changes, newest first. @throws the database's error */
  async page(tool: string, { limit, cursor }: PageQuery): Promise<Page<GradeChangeView>> {
    await this.flush();
    const beforeSeq = keyIn(cursor, (key) => (/^\d{1,18}$/.test(key) ? key : undefined));
    const values = [sanitisedText(tool), beforeSeq ?? null, limit + 1];
    const rows = await this.db.query<GradeChange[]>(selectPage, values);
    const { data, nextCursor } = pageFrom(rows, ({ seq }) => seq, limit);
    return {
      data: data.map(({ from, to, why, at }) => ({ from, to, why, at: at.toISOString() })),
      nextCursor,
    };
  }
}

/** Stores changes. A lock lets one replica at a time do so. @returns changes that no other replica had stored */
async function insertAll(dataSource: DataSource, changes: readonly HealthChange[]): Promise<HealthChange[]> {
  return dataSource.transaction(async (db) => {
    await db.query(`SELECT pg_advisory_xact_lock(hashtext('grade_changes'))`);
    const stored: HealthChange[] = [];
    for (const change of changes) {
      const { tool, from, to, why, at } = change;
      const rows = await db.query<unknown[]>(insert, [sanitisedText(tool), from, to, sanitisedText(why), at]);
      if (rows.length > 0) stored.push(change);
    }
    return stored;
  });
}
