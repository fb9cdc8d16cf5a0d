import type { MigrationInterface, QueryRunner } from 'typeorm';

const events = `
  -- Events of tools, of all replicas.
  CREATE TABLE tool_events (
    seq     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text NOT NULL UNIQUE,
    type    text NOT NULL,
    tool    text NOT NULL,
    at      timestamptz(3) NOT NULL,
    message text NOT NULL,
    data    json NOT NULL
  )`;

/** Failures in a cell that are their callers' errors: those counted before stay the tool's. Events of tools. */
export class HealthOfRows1764000210000 implements MigrationInterface {
  readonly name = 'HealthOfRows1764000210000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tool_metric_rollups ADD COLUMN caller_faults bigint NOT NULL DEFAULT 0');
    await runner.query(events);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE tool_events');
    await runner.query('ALTER TABLE tool_metric_rollups DROP COLUMN caller_faults');
  }
}
