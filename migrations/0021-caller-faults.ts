import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Failures in a cell that are their callers' errors. Those counted before this migration stay the tool's. */
export class CallerFaults1764000210000 implements MigrationInterface {
  readonly name = 'CallerFaults1764000210000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tool_metric_rollups ADD COLUMN caller_faults bigint NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tool_metric_rollups DROP COLUMN caller_faults');
  }
}
