import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Executions whose answer reports an error, or that somebody marked as wrong: counted, and found by time. */
export class Findings1764000420000 implements MigrationInterface {
  readonly name = 'Findings1764000420000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE tool_metric_rollups ADD COLUMN findings bigint NOT NULL DEFAULT 0;
      -- A mark that was made before can be taken back.
      UPDATE tool_metric_rollups SET findings = semantic_failures WHERE semantic_failures <> 0;
      -- Few executions have one. The tool is last: findings of all tools are read by time, too.
      CREATE INDEX tool_metrics_findings ON tool_metrics (recorded_at DESC, metric_id DESC, tool_name)
        WHERE semantic_failure IS NOT NULL OR metadata ? 'semanticError'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX tool_metrics_findings;
      ALTER TABLE tool_metric_rollups DROP COLUMN findings`);
  }
}
