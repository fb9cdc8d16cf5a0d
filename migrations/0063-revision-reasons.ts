import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Why a revision was made: who may read revisions may not read the audit. */
export class RevisionReasons1764000630000 implements MigrationInterface {
  readonly name = 'RevisionReasons1764000630000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tool_revisions ADD COLUMN reason text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tool_revisions DROP COLUMN reason');
  }
}
