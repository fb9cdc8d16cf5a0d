import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether prompts of an MCP server keep their own names. */
export class PromptPrefix1764000570000 implements MigrationInterface {
  readonly name = 'PromptPrefix1764000570000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tools ADD COLUMN prefix text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tools DROP COLUMN prefix');
  }
}
