import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What happened to the circuits of tools, and who did it by hand. */
export class CircuitTransitions1732200120000 implements MigrationInterface {
  readonly name = 'CircuitTransitions1732200120000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE circuit_transitions (
        transition_id uuid PRIMARY KEY,
        seq bigint GENERATED ALWAYS AS IDENTITY,
        tool text NOT NULL,
        from_state text NOT NULL CHECK (from_state IN ('closed', 'open', 'half_open')),
        to_state text NOT NULL CHECK (to_state IN ('closed', 'open', 'half_open')),
        reason text NOT NULL,
        changed_by text,
        at timestamptz NOT NULL
      )`);
    await runner.query(`
      CREATE INDEX idx_circuit_transitions_tool ON circuit_transitions (tool, seq DESC)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE circuit_transitions`);
  }
}
