import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What happened: one row an execution. */
export class ToolMetrics1732200010000 implements MigrationInterface {
  readonly name = 'ToolMetrics1732200010000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE tool_metrics (
        metric_id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        tool_name         text NOT NULL,
        user_id           text NOT NULL,
        session_id        text,
        request_id        text,
        investigation_id  text,
        run_id            text,
        status            text NOT NULL DEFAULT 'success',
        execution_time_ms integer NOT NULL DEFAULT 0,
        error_type        text,
        error_message     text,
        parameters_hash   text,
        input_size        integer NOT NULL DEFAULT 0,
        output_size       integer NOT NULL DEFAULT 0,
        metadata          jsonb NOT NULL DEFAULT '{}',
        is_test           boolean NOT NULL DEFAULT false,
        tool_fault        boolean NOT NULL DEFAULT false,
        -- Milliseconds, as the program counts: a page's cursor and inclusive bounds compare exactly.
        recorded_at       timestamptz(3) NOT NULL DEFAULT now()
      )
    `);
    await runner.query(`
      CREATE INDEX tool_metrics_by_tool ON tool_metrics (tool_name, recorded_at DESC, metric_id DESC)
    `);
    await runner.query(`
      CREATE INDEX tool_metrics_by_time ON tool_metrics (recorded_at DESC, metric_id DESC)
    `);
    await runner.query(`
      CREATE INDEX tool_metrics_failures_by_tool ON tool_metrics (tool_name, recorded_at DESC, metric_id DESC)
      WHERE status <> 'success'
    `);
    await runner.query(`
      CREATE INDEX tool_metrics_failures_by_time ON tool_metrics (recorded_at DESC, metric_id DESC)
      WHERE status <> 'success'
    `);
    await runner.query(`
      CREATE INDEX tool_metrics_by_duration ON tool_metrics (execution_time_ms DESC, recorded_at DESC)
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE tool_metrics');
  }
}
