import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Accounts of callers at MCP servers. */
export class Accounts1764000550000 implements MigrationInterface {
  readonly name = 'Accounts1764000550000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE custom_tools ADD COLUMN credentials text NOT NULL DEFAULT 'none';
      CREATE TABLE accounts (
        server_id  uuid NOT NULL REFERENCES custom_tools (id) ON DELETE CASCADE,
        -- The id of a key, or <issuer>#<subject> of an access token.
        user_id    text NOT NULL,
        -- Sent to no other address.
        url        text NOT NULL,
        -- active, needs_sign_in
        status     text NOT NULL,
        scope      text,
        -- {"grant": …}: the tokens and their client, encrypted as the secrets of tools are.
        env        jsonb NOT NULL,
        -- Another one after each refresh.
        revision   integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (server_id, user_id)
      );
      CREATE TRIGGER accounts_changed AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF status, created_at ON accounts
        FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE accounts; ALTER TABLE custom_tools DROP COLUMN credentials');
  }
}
