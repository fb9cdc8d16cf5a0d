import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Cells of 10 minutes and of 6 hours are counted no more: those of a minute, an hour and a day answer in time. */
export class FewerRollupSpans1732200220000 implements MigrationInterface {
  readonly name = 'FewerRollupSpans1732200220000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM tool_metric_rollups WHERE seconds IN (600, 21600)');
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [shorter, longer] of [
      [60, 600],
      [3_600, 21_600],
    ]) {
      await runner.query(`
        INSERT INTO tool_metric_rollups
        SELECT ${longer}, date_bin('${longer} seconds', starts_at, '1970-01-01 00:00:00+00') AS longer, tool_name, status,
               error_type, is_test, writer, sum(calls), sum(total_ms), min(min_ms), max(max_ms), sum(input_bytes),
               sum(output_bytes), sum(semantic_failures), max(last_at),
               metric_latency_compacted(string_agg(latency, ''::bytea))
        FROM tool_metric_rollups
        WHERE seconds = ${shorter}
        GROUP BY 2, 3, 4, 5, 6, 7`);
    }
  }
}
