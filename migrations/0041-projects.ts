import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The project of an act stands in its audit entry. */
export class Projects1764000410000 implements MigrationInterface {
  readonly name = 'Projects1764000410000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries ADD COLUMN project text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries DROP COLUMN project');
  }
}
