import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * On which day each tool was last executed, so that the last use of all of them is read out of a day or two instead of
 * searched for in all that are kept.
 */
export class ToolLastDays1732200190000 implements MigrationInterface {
  readonly name = 'ToolLastDays1732200190000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE tool_last_days (
        tool_name text NOT NULL,
        is_test   boolean NOT NULL,
        -- When the newest day begins that has executions of it (UTC), as their cells have it.
        day       timestamptz(3) NOT NULL,
        PRIMARY KEY (tool_name, is_test)
      )`);
    await runner.query(`
      INSERT INTO tool_last_days
      SELECT tool_name, is_test, max(starts_at) FROM tool_metric_rollups WHERE seconds = 86400 GROUP BY 1, 2`);
    await runner.query(emptying('tool_metric_rollups, tool_last_days'));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(emptying('tool_metric_rollups'));
    await runner.query('DROP TABLE tool_last_days');
  }
}

/** Who empties the executions by hand empties what is known of them as well. */
const emptying = (tables: string): string => `
  CREATE OR REPLACE FUNCTION empty_tool_metric_rollups() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    TRUNCATE ${tables};
    RETURN NULL;
  END $$`;
