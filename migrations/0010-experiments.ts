import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Requests are `json`, not `jsonb`: models see the members of a tool's schema in the order of their author. */
const experiments = `
  CREATE TABLE experiments (
    id                uuid PRIMARY KEY,
    project           text NOT NULL,
    name              text NOT NULL,
    description       text,
    -- NULL: made from a request of its author's own.
    original_span_id  text,
    original_trace_id text,
    original_request  json NOT NULL,
    -- The answer and the figures of the span, kept here: the span itself goes with its day.
    original_result   json,
    thread_id         text,
    modified_request  json NOT NULL,
    headers           json NOT NULL,
    prompt_variables  json NOT NULL,
    model_parameters  json NOT NULL,
    status            text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'running', 'completed', 'failed')),
    -- Of the latest run, and when it began: one whose server died is over when its time is.
    run_id            uuid,
    run_started_at    timestamptz,
    result            json,
    error             text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX experiments_by_project ON experiments (project, created_at DESC, id);
  CREATE INDEX experiments_by_span ON experiments (project, original_span_id)`;

/** Requests of model calls that are tried again with changes. */
export class Experiments1764000100000 implements MigrationInterface {
  readonly name = 'Experiments1764000100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(experiments);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE experiments');
  }
}
