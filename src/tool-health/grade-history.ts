import { Inject, Injectable } from '@nestjs/common';
import { keyIn, type Page, pageFrom } from '../rest/page.js';
import type { PageQuery } from '../rest/dto.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { type HealthChange, HealthEvents } from './health-events.js';
import type { GradeChangeView } from './tool-health.dto.js';
import { ToolHealthService } from './tool-health.service.js';
import { WriteBehind } from '../common/write-behind.js';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { sanitisedText } from '../common/pg-text.js';
import type { HealthStatus } from './grading.js';

/** A change of a grade as it is kept; `seq` is its place in the order of all of them. */
interface GradeChange extends Omit<HealthChange, 'at'> {
  readonly seq: string;
  readonly at: Date;
}

/** Replicas see the same change, each in its own minute: the first one counts. */
const insert = `
  INSERT INTO grade_changes (tool, from_status, to_status, why, at)
  SELECT $1, $2, $3, $4, to_timestamp($5::float8 / 1000)
  WHERE $3 IS DISTINCT FROM (SELECT to_status FROM grade_changes WHERE tool = $1 ORDER BY seq DESC LIMIT 1)`;

const columns = 'seq, tool, from_status AS "from", to_status AS "to", why, at';

/** before: of each tool its last grade stays, whatever its age */
const deleteOlder = `
  DELETE FROM grade_changes old
  WHERE at < $1 AND EXISTS (SELECT FROM grade_changes later WHERE later.tool = old.tool AND later.seq > old.seq)`;

/** Changes of tools' grades, durable. */
@Injectable()
export class GradeChangesRepository {
  constructor(@InjectDataSource() private readonly db: DataSource) {}

  /** In the order in which they happened. */
  async insert(changes: readonly HealthChange[]): Promise<void> {
    await this.db.transaction(async (db) => {
      // One replica after another: each looks at what the other has written.
      await db.query(`SELECT pg_advisory_xact_lock(hashtext('grade_changes'))`);
      for (const { tool, from, to, why, at } of changes)
        await db.query(insert, [sanitisedText(tool), from, to, sanitisedText(why), at]);
    });
  }

  /** The newest first. @param before only those before this place */
  page(tool: string, limit: number, before: string | undefined): Promise<GradeChange[]> {
    return this.db.query(
      `SELECT ${columns} FROM grade_changes
       WHERE tool = $1 AND ($2::bigint IS NULL OR seq < $2) ORDER BY seq DESC LIMIT $3`,
      [sanitisedText(tool), before ?? null, limit],
    );
  }

  /** The last change of each tool. */
  last(): Promise<{ readonly tool: string; readonly to: HealthStatus; readonly at: Date }[]> {
    return this.db.query(
      'SELECT DISTINCT ON (tool) tool, to_status AS "to", at FROM grade_changes ORDER BY tool, seq DESC',
    );
  }

  async deleteOlder(before: Date): Promise<void> {
    await this.db.query(deleteOlder, [before]);
  }
}

/** How tools' grades change: a restart neither forgets it nor begins anew. */
@Injectable()
export class GradeHistory extends WriteBehind<HealthChange> {
  constructor(
    @Inject(APP_CONFIG) { recorder }: AppConfig,
    events: HealthEvents,
    private readonly health: ToolHealthService,
    private readonly repository: GradeChangesRepository,
  ) {
    super('grade history', events, repository, recorder.retentionDays);
  }

  override async onModuleInit(): Promise<void> {
    void super.onModuleInit();
    for (const { tool, to, at } of await this.repository.last()) this.health.remember(tool, to, at.getTime());
  }

  /** The newest first. @throws the database's error */
  async page(tool: string, { limit, cursor }: PageQuery): Promise<Page<GradeChangeView>> {
    await this.flush();
    const before = keyIn(cursor, (place) => (/^\d{1,18}$/.test(place) ? place : undefined));
    const rows = await this.repository.page(tool, limit + 1, before);
    const { data, nextCursor } = pageFrom(rows, ({ seq }) => seq, limit);
    return {
      data: data.map(({ from, to, why, at }) => ({ from, to, why, at: at.toISOString() })),
      nextCursor,
    };
  }
}
