import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What every custom tool was at any time. The rows never change; they go with their tool. */
export class CustomToolRevisions1732200050000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // 0: registered before revisions were kept; loading the tool makes its first one.
    await runner.query(`ALTER TABLE custom_tools ADD COLUMN revision integer NOT NULL DEFAULT 0`);
    await runner.query(`
      CREATE TABLE custom_tool_revisions (
        tool_id uuid NOT NULL REFERENCES custom_tools (id) ON DELETE CASCADE,
        revision integer NOT NULL CHECK (revision > 0),
        content_hash text NOT NULL,
        configuration jsonb NOT NULL,
        env jsonb NOT NULL,
        files jsonb NOT NULL,
        source text NOT NULL CHECK (source IN ('register', 'patch', 'import', 'reload', 'rollback')),
        restores integer,
        created_by text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tool_id, revision)
      )`);
    await runner.query(`
      CREATE INDEX idx_custom_tool_revisions_content ON custom_tool_revisions (tool_id, content_hash, revision)`);
    await runner.query(`
      CREATE FUNCTION custom_tool_revision_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'revisions of custom tools never change';
      END $$`);
    // env alone may be written again: its values are encrypted under a key that may be rotated.
    await runner.query(`
      CREATE TRIGGER custom_tool_revisions_immutable
        BEFORE UPDATE OF tool_id, revision, content_hash, configuration, files, source, restores, created_by, created_at
        ON custom_tool_revisions FOR EACH ROW EXECUTE FUNCTION custom_tool_revision_is_immutable()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE custom_tool_revisions`);
    await runner.query(`DROP FUNCTION custom_tool_revision_is_immutable()`);
    await runner.query(`ALTER TABLE custom_tools DROP COLUMN revision`);
  }
}
