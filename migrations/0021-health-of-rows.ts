import type { MigrationInterface, QueryRunner } from 'typeorm';

const events = `
  -- Events of tools, of all replicas.
  CREATE TABLE tool_events (
    seq   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id    text NOT NULL UNIQUE,
    at    timestamptz(3) NOT NULL,
    -- As readers see it.
    event json NOT NULL
  )`;

const investigations = `
  -- Budgets of investigations, as the replica that changed them last has them.
  CREATE TABLE investigations (
    -- Empty: of callers without a key.
    project          text NOT NULL,
    investigation_id text NOT NULL,
    resets_at        timestamptz(3) NOT NULL,
    used_at          timestamptz NOT NULL,
    budget           json NOT NULL,
    PRIMARY KEY (project, investigation_id)
  );
  CREATE INDEX investigations_by_end ON investigations (resets_at)`;

/**
 * Failures in a cell that are their callers' errors (those counted before stay the tool's), events of tools, and budgets
 * of investigations.
 */
export class HealthOfRows1764000210000 implements MigrationInterface {
  readonly name = 'HealthOfRows1764000210000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tool_metric_rollups ADD COLUMN caller_errors bigint NOT NULL DEFAULT 0');
    await runner.query(events);
    await runner.query(investigations);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE investigations, tool_events');
    await runner.query('ALTER TABLE tool_metric_rollups DROP COLUMN caller_errors');
  }
}
