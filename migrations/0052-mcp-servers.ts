import type { MigrationInterface, QueryRunner } from 'typeorm';

const keysTrigger = (columns: string): string => `
  DROP TRIGGER api_keys_changed ON api_keys;
  CREATE TRIGGER api_keys_changed
    AFTER INSERT OR DELETE OR TRUNCATE
      OR UPDATE OF hash, owner, scopes, projects, tools, rate, expires_at, revoked_at${columns}
    ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION api_keys_changed()`;

/** Virtual MCP servers: sets of tools, resources and prompts, to which keys may be bound. */
export class McpServers1764000520000 implements MigrationInterface {
  readonly name = 'McpServers1764000520000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE mcp_servers (
        name         text PRIMARY KEY,
        -- NULL: those of the servers in it.
        instructions text,
        -- [{"tool": "x", "as": "y"}, {"tag": "t"}, …]
        members      jsonb NOT NULL
      );
      CREATE TRIGGER mcp_servers_changed
        AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON mcp_servers
        FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed();
      -- NULL: bound to none of them.
      ALTER TABLE api_keys ADD COLUMN mcp_servers text[];
      ${keysTrigger(', mcp_servers')}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `${keysTrigger('')}; ALTER TABLE api_keys DROP COLUMN mcp_servers; DROP TABLE mcp_servers`,
    );
  }
}
