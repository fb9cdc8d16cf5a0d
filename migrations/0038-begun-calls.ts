import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tells a call that was claimed and never given to its tool from one whose result is unknown. */
export class BegunCalls1764000380000 implements MigrationInterface {
  readonly name = 'BegunCalls1764000380000';

  async up(runner: QueryRunner): Promise<void> {
    // An older version does not report that a call begins: its calls count as begun.
    await runner.query('ALTER TABLE idempotency_keys ADD COLUMN begun boolean NOT NULL DEFAULT true');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE idempotency_keys DROP COLUMN begun');
  }
}
