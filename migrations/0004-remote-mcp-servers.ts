import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An MCP server may be behind a URL. Its headers name variables of `env`, which holds the secrets. */
export class RemoteMcpServers1764000040000 implements MigrationInterface {
  readonly name = 'RemoteMcpServers1764000040000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tools ADD COLUMN url text, ADD COLUMN headers jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM custom_tools WHERE url IS NOT NULL');
    await runner.query('ALTER TABLE custom_tools DROP COLUMN url, DROP COLUMN headers');
  }
}
