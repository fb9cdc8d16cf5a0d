import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which playbooks were shown to which investigation: what an agent selects can be held against it. */
export class ShownPlaybooks1732200170000 implements MigrationInterface {
  readonly name = 'ShownPlaybooks1732200170000';

  async up(runner: QueryRunner): Promise<void> {
    // Without a reference to the catalogue: playbooks of a Data Storage service are shown as well.
    await runner.query(`
      CREATE TABLE playbook_shown (
        investigation_id text NOT NULL,
        playbook_id text NOT NULL,
        version text NOT NULL,
        first_shown_at timestamptz NOT NULL,
        last_shown_at timestamptz NOT NULL,
        times integer NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (investigation_id, playbook_id, version)
      )`);
    await runner.query('CREATE INDEX playbook_shown_expired ON playbook_shown (expires_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE playbook_shown');
  }
}
