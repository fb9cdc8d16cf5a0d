import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where a tool's health is judged by other limits than the defaults; null: nowhere. */
export class CustomToolThresholds1732200130000 implements MigrationInterface {
  readonly name = 'CustomToolThresholds1732200130000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE custom_tools ADD COLUMN thresholds jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE custom_tools DROP COLUMN thresholds`);
  }
}
