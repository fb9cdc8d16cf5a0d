import type { MigrationInterface, QueryRunner } from 'typeorm';

const sources = ['register', 'patch', 'import', 'reload', 'rollback', 'approve'];

/** A custom tool may bring its files along: they are kept here, so that every replica has them. */
export class Bundles1764000090000 implements MigrationInterface {
  readonly name = 'Bundles1764000090000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE tool_bundles (
        -- SHA-256 of the files as they were uploaded.
        hash        text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),
        -- A gzipped tar of them, with the packages that were installed.
        archive     bytea NOT NULL,
        files       integer NOT NULL,
        bytes       bigint NOT NULL,
        -- What the installation of packages said; NULL where there was none.
        install_log text,
        -- The last upload: what was uploaded a moment ago may not stand in a revision yet.
        uploaded_at timestamptz NOT NULL DEFAULT now()
      );
      -- It is compressed already.
      ALTER TABLE tool_bundles ALTER COLUMN archive SET STORAGE EXTERNAL;
      ALTER TABLE custom_tools ADD COLUMN bundle text REFERENCES tool_bundles (hash)`);
    await this.allowSources(runner, ...sources, 'bundle');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM custom_tools WHERE bundle IS NOT NULL');
    await this.allowSources(runner, ...sources);
    await runner.query('ALTER TABLE custom_tools DROP COLUMN bundle');
    await runner.query('DROP TABLE tool_bundles');
  }

  private async allowSources(runner: QueryRunner, ...allowed: string[]): Promise<void> {
    await runner.query(`
      ALTER TABLE custom_tool_revisions
        DROP CONSTRAINT custom_tool_revisions_source_check,
        ADD CONSTRAINT custom_tool_revisions_source_check
          CHECK (source IN (${allowed.map((source) => `'${source}'`).join(', ')}))`);
  }
}
