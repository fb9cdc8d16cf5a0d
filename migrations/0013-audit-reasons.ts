import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Why somebody did what the audit holds. */
export class AuditReasons1764000130000 implements MigrationInterface {
  readonly name = 'AuditReasons1764000130000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries ADD COLUMN reason text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries DROP COLUMN reason');
  }
}
