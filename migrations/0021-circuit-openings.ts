import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How often in a row a circuit had opened: after a restart it goes on waiting as long as it had come to. */
export class CircuitOpenings1732200210000 implements MigrationInterface {
  readonly name = 'CircuitOpenings1732200210000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE circuit_transitions ADD COLUMN openings integer NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE circuit_transitions DROP COLUMN openings');
  }
}
