import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A custom tool may be an MCP server; what was approved of its tools stands in its row and its revisions. */
export class McpServers1764000030000 implements MigrationInterface {
  readonly name = 'McpServers1764000030000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE custom_tools
        ADD COLUMN protocol text NOT NULL DEFAULT 'jsonrpc' CHECK (protocol IN ('jsonrpc', 'mcp')),
        ADD COLUMN definitions jsonb`);
    await this.allowSources(runner, 'register', 'patch', 'import', 'reload', 'rollback', 'approve');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query("DELETE FROM custom_tools WHERE protocol = 'mcp'");
    await this.allowSources(runner, 'register', 'patch', 'import', 'reload', 'rollback');
    await runner.query('ALTER TABLE custom_tools DROP COLUMN protocol, DROP COLUMN definitions');
  }

  private async allowSources(runner: QueryRunner, ...sources: string[]): Promise<void> {
    await runner.query(`
      ALTER TABLE custom_tool_revisions
        DROP CONSTRAINT custom_tool_revisions_source_check,
        ADD CONSTRAINT custom_tool_revisions_source_check
          CHECK (source IN (${sources.map((source) => `'${source}'`).join(', ')}))`);
  }
}
