import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which callers share a tool's processes. Tools that are stored go on as before: all do. */
export class Isolation1764000180000 implements MigrationInterface {
  readonly name = 'Isolation1764000180000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE custom_tools ADD COLUMN isolation text NOT NULL DEFAULT 'shared'
         CHECK (isolation IN ('project', 'shared'))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tools DROP COLUMN isolation');
  }
}
