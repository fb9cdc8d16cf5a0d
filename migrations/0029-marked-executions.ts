import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Traces look for the marks of their executions. Few executions have one. */
export class MarkedExecutions1764000290000 implements MigrationInterface {
  readonly name = 'MarkedExecutions1764000290000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX tool_metrics_marked ON tool_metrics (metric_id) WHERE semantic_failure IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX tool_metrics_marked');
  }
}
