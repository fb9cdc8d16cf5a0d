import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Processes of a tool may belong to one caller each. */
export class UserIsolation1764000580000 implements MigrationInterface {
  readonly name = 'UserIsolation1764000580000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE custom_tools DROP CONSTRAINT custom_tools_isolation_check,
        ADD CONSTRAINT custom_tools_isolation_check CHECK (isolation IN ('project', 'shared', 'user'))`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE custom_tools SET isolation = 'project' WHERE isolation = 'user';
      ALTER TABLE custom_tools DROP CONSTRAINT custom_tools_isolation_check,
        ADD CONSTRAINT custom_tools_isolation_check CHECK (isolation IN ('project', 'shared'))`);
  }
}
