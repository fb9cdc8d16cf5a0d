import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where a tool does not work. */
export class ToolConditions1764000320000 implements MigrationInterface {
  readonly name = 'ToolConditions1764000320000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Only of tools that are not well at a replica.
      CREATE TABLE tool_conditions (
        tool    text NOT NULL,
        replica text NOT NULL,
        status  text NOT NULL,
        health  text NOT NULL,
        error   text,
        PRIMARY KEY (tool, replica)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE tool_conditions');
  }
}
