import type { MigrationInterface, QueryRunner } from 'typeorm';

const events = `
  -- What happened to tools, as any replica saw it: what the list of events shows after a restart.
  CREATE TABLE tool_events (
    seq     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    type    text NOT NULL,
    tool    text NOT NULL,
    message text NOT NULL,
    data    jsonb NOT NULL,
    at      timestamptz(3) NOT NULL
  );
  CREATE INDEX tool_events_by_time ON tool_events (at)`;

/** Tool faults among the counted executions (NULL: counted before), and events of tools. */
export class CausesAndEvents1764000190000 implements MigrationInterface {
  readonly name = 'CausesAndEvents1764000190000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tool_metric_rollups ADD COLUMN tool_faults bigint');
    await runner.query(events);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE tool_events');
    await runner.query('ALTER TABLE tool_metric_rollups DROP COLUMN tool_faults');
  }
}
