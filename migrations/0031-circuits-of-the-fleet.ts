import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Circuits that replicas decide together. Rows of earlier versions name no replica: only what was done by hand counts. */
export class CircuitsOfTheFleet1764000310000 implements MigrationInterface {
  readonly name = 'CircuitsOfTheFleet1764000310000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE circuit_transitions
        ADD COLUMN replica text,
        -- Of that replica alone.
        ADD COLUMN local boolean NOT NULL DEFAULT false;
      CREATE INDEX circuit_transitions_by_seq ON circuit_transitions (seq)`);
    await runner.query(`
      -- Which replica may let calls of an open circuit through to try the tool.
      CREATE TABLE circuit_probes (
        tool       text PRIMARY KEY,
        replica    text NOT NULL,
        held_until timestamptz NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE circuit_probes');
    await runner.query('DROP INDEX circuit_transitions_by_seq');
    await runner.query('ALTER TABLE circuit_transitions DROP COLUMN local, DROP COLUMN replica');
  }
}
