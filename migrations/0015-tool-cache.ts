import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How long a tool's result answers equal calls, in milliseconds. */
export class ToolCache1732200150000 implements MigrationInterface {
  readonly name = 'ToolCache1732200150000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tools ADD COLUMN cache_ttl_ms integer');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tools DROP COLUMN cache_ttl_ms');
  }
}
