import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { storableJson } from '../common/pg-text.js';
import { WriteBehind } from '../common/write-behind.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { type Investigation, InvestigationBudget } from './investigation-budget.js';

const delayMs = 1_000;

/** The last one of a key counts. Their order is the same for every replica: none waits in a circle. */
const upsert = `
  INSERT INTO investigations (project, investigation_id, resets_at, used_at, budget)
  SELECT DISTINCT ON (1, 2) budget #>> '{key,projectId}', budget #>> '{key,investigationId}',
         to_timestamp((budget ->> 'resetsAt')::float8 / 1000), now(), budget
  FROM json_array_elements($1::json) WITH ORDINALITY AS changed (budget, place)
  ORDER BY 1, 2, place DESC
  ON CONFLICT (project, investigation_id) DO UPDATE SET
    resets_at = excluded.resets_at, used_at = excluded.used_at, budget = excluded.budget`;

const selectLatest =
  'SELECT budget FROM investigations WHERE resets_at > now() ORDER BY used_at DESC LIMIT $1';

const withoutMaps = (investigation: Investigation) => ({
  ...investigation,
  ...{ limits: [...investigation.limits], tools: [...investigation.tools] },
});
type Row = ReturnType<typeof withoutMaps>;

/** Budgets of investigations in rows, a second behind: a restart goes on with them. */
@Injectable()
export class InvestigationHistory extends WriteBehind<Investigation> {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly budgets: InvestigationBudget,
    @InjectDataSource() private readonly db: DataSource,
  ) {
    const keeping = {
      insert: (changed: readonly Investigation[]) =>
        db.query(upsert, [storableJson(changed.map(withoutMaps))]),
      deleteOlder: () => db.query('DELETE FROM investigations WHERE resets_at <= now()'),
    };
    super('investigations', budgets.changes, keeping, 0, delayMs);
  }

  override async onModuleInit(): Promise<void> {
    const { maxTracked } = this.config.investigations;
    const rows = await this.db.query<{ budget: Row }[]>(selectLatest, [maxTracked]);
    for (const { budget } of rows.reverse())
      this.budgets.restore({ ...budget, limits: new Map(budget.limits), tools: new Map(budget.tools) });
    void super.onModuleInit();
  }
}
