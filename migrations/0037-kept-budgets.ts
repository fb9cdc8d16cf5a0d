import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Budgets that were kept whole, one row for an investigation, become rows of their counters. */
const copy = `
  INSERT INTO call_counters (kind, project, subject, name, used, set_limit, own_limit, resets_at, used_at)
  SELECT 'budget', project, investigation_id, name, coalesce(used, 0), set_limit, own_limit, resets_at, used_at
  FROM investigations, LATERAL (
    SELECT '' AS name, NULL::int AS used, (budget ->> 'callsPerTool')::int AS set_limit, NULL::int AS own_limit
    WHERE budget ->> 'callsPerTool' IS NOT NULL
    UNION ALL
    SELECT coalesce(called ->> 0, raised ->> 0), (called #>> '{1,used}')::int, (raised ->> 1)::int,
           (called #>> '{1,toolLimit}')::int
    FROM json_array_elements(budget -> 'tools') AS called
    FULL JOIN json_array_elements(budget -> 'limits') AS raised ON called ->> 0 = raised ->> 0
  ) AS counter
  WHERE resets_at > now()
  ON CONFLICT DO NOTHING`;

/** Budgets with the embedded database are rows like those of a fleet. The table before them stays for a roll-back. */
export class KeptBudgets1764000370000 implements MigrationInterface {
  readonly name = 'KeptBudgets1764000370000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(copy);
  }

  async down(): Promise<void> {
    // The rows of before are there still.
  }
}
