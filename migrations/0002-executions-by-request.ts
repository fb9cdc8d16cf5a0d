import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Executions are looked up by the ids that their callers know: the session's and the request's. */
export class ExecutionsByRequest1764000020000 implements MigrationInterface {
  readonly name = 'ExecutionsByRequest1764000020000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX tool_metrics_by_session ON tool_metrics (session_id, recorded_at DESC, metric_id DESC)
        WHERE session_id IS NOT NULL`);
    await runner.query('CREATE INDEX tool_metrics_by_request ON tool_metrics (request_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX tool_metrics_by_session, tool_metrics_by_request');
  }
}
