import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where a tool's command led when it was registered; null: not yet known, the next start that works fills it. */
export class PinnedCommand1732200060000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE custom_tools ADD COLUMN pinned_command text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE custom_tools DROP COLUMN pinned_command`);
  }
}
