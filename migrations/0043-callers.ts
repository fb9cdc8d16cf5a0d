import type { MigrationInterface, QueryRunner } from 'typeorm';

const emptied = (tables: string): string => `
  CREATE OR REPLACE FUNCTION empty_tool_metric_rollups() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    TRUNCATE ${tables};
    RETURN NULL;
  END $$`;

/** Calls of each tool by caller and project, from the upgrade on. */
export class Callers1764000430000 implements MigrationInterface {
  readonly name = 'Callers1764000430000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE tool_caller_rollups (
        -- Length of the span: 3600 or 86400.
        seconds   integer NOT NULL,
        starts_at timestamptz(3) NOT NULL,
        tool_name text NOT NULL,
        project   text NOT NULL,
        -- The user's id, or \`other\` for callers beyond the first 200 of a tool and hour.
        caller    text NOT NULL,
        -- Replicas that write side by side never wait for each other's cells.
        writer    integer NOT NULL,
        calls     bigint NOT NULL,
        failures  bigint NOT NULL,
        -- Calls that were not run: they have no execution.
        refusals  bigint NOT NULL,
        PRIMARY KEY (seconds, starts_at, tool_name, project, caller, writer)
      ) WITH (fillfactor = 70);
      ${emptied('tool_metric_rollups, tool_last_days, tool_caller_rollups')}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`${emptied('tool_metric_rollups, tool_last_days')}; DROP TABLE tool_caller_rollups`);
  }
}
