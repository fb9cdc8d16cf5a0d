import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Reads, prompts and completions of MCP servers are executions beside the calls of tools. */
export class ExecutionKinds1764000480000 implements MigrationInterface {
  readonly name = 'ExecutionKinds1764000480000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE tool_metrics ADD COLUMN kind text NOT NULL DEFAULT 'tool'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tool_metrics DROP COLUMN kind');
  }
}
