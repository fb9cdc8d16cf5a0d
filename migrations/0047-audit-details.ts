import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What an act changed, and why it was refused. */
export class AuditDetails1764000470000 implements MigrationInterface {
  readonly name = 'AuditDetails1764000470000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries ADD COLUMN details jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries DROP COLUMN details');
  }
}
