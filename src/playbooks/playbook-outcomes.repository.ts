import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type StatisticsRow, statisticsFields } from './playbook.rows.js';
import type { VersionKey } from './playbook-changes.repository.js';

/** What came of using a playbook. */
export interface Outcome {
  readonly success: boolean;
  /** Of the caller's choice: an execution counts once, however often it is reported. */
  readonly executionId: string | undefined;
}

/** Success statistics: counted in the row itself, so that none is lost between two writers. */
@Injectable()
export class PlaybookOutcomesRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** @returns the statistics after it; undefined when the execution was counted before, or there is no such version */
  async add(
    { id, version }: VersionKey,
    { success, executionId }: Outcome,
  ): Promise<StatisticsRow | undefined> {
    const [rows]: [StatisticsRow[], number] = await this.dataSource.query(
      `WITH new AS (
         INSERT INTO playbook_outcomes (playbook_id, version, execution_id, success)
         SELECT playbook_id, version, $4, $3::boolean FROM playbook_catalog
         WHERE playbook_id = $1 AND version = $2 AND $4::text IS NOT NULL
         ON CONFLICT DO NOTHING RETURNING 1
       )
       UPDATE playbook_catalog SET
         total_executions = total_executions + 1,
         successful_executions = successful_executions + $3::boolean::integer,
         actual_success_rate =
           round((successful_executions + $3::boolean::integer)::numeric / (total_executions + 1), 3)
       WHERE playbook_id = $1 AND version = $2 AND ($4::text IS NULL OR EXISTS (SELECT FROM new))
       RETURNING ${statisticsFields}`,
      [id, version, success, executionId ?? null],
    );
    return rows[0];
  }

  /** @returns undefined: the execution was never reported */
  async find({ id, version }: VersionKey, executionId: string): Promise<{ success: boolean } | undefined> {
    const rows: { success: boolean }[] = await this.dataSource.query(
      `SELECT success FROM playbook_outcomes WHERE playbook_id = $1 AND version = $2 AND execution_id = $3`,
      [id, version, executionId],
    );
    return rows[0];
  }
}
