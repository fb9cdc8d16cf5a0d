import type { MigrationInterface, QueryRunner } from 'typeorm';

const payloads = `
  -- Inputs and answers of executions, of tools whose capture says so. One row is written at most once; it goes
  -- when its time is over, whether its execution is still there or not.
  CREATE TABLE execution_payloads (
    metric_id   uuid PRIMARY KEY,
    recorded_at timestamptz(3) NOT NULL,
    -- The input in one line, for lists.
    preview     text NOT NULL,
    -- JSON as text: jsonb would refuse what a tool may answer.
    payload     text NOT NULL
  );
  CREATE INDEX execution_payloads_by_time ON execution_payloads (recorded_at);
  ALTER TABLE custom_tools ADD COLUMN capture text NOT NULL DEFAULT 'none'
    CHECK (capture IN ('none', 'failures', 'all'))`;

const grades = `
  -- Changes of tools' grades (of their last hour), as whichever replica saw them first.
  CREATE TABLE grade_changes (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tool        text NOT NULL,
    from_status text NOT NULL,
    to_status   text NOT NULL,
    why         text NOT NULL,
    at          timestamptz(3) NOT NULL
  );
  CREATE INDEX grade_changes_by_tool ON grade_changes (tool, seq DESC)`;

/** Inputs and answers of executions, and changes of tools' grades. */
export class PayloadsAndGrades1764000080000 implements MigrationInterface {
  readonly name = 'PayloadsAndGrades1764000080000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(payloads);
    await runner.query(grades);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE grade_changes, execution_payloads');
    await runner.query('ALTER TABLE custom_tools DROP COLUMN capture');
  }
}
