import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Records of executions that the database refused: kept as they are until somebody looks. */
export class Quarantine1732200080000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE tool_metrics_quarantine (
        metric_id      text PRIMARY KEY,
        tool_name      text NOT NULL,
        reason         text NOT NULL,
        -- The record as JSON, byte for byte: jsonb would refuse what the metrics' table refused.
        record         text NOT NULL,
        quarantined_at timestamptz NOT NULL DEFAULT now()
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE tool_metrics_quarantine');
  }
}
