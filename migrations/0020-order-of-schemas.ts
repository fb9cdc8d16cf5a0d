import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `json` instead of `jsonb`, which sorts members: the properties of a schema stay in the order of their author. */
export class OrderOfSchemas1764000200000 implements MigrationInterface {
  readonly name = 'OrderOfSchemas1764000200000';

  up(runner: QueryRunner): Promise<void> {
    return this.change(runner, 'json');
  }

  down(runner: QueryRunner): Promise<void> {
    return this.change(runner, 'jsonb');
  }

  private async change(runner: QueryRunner, type: string): Promise<void> {
    await runner.query(`
      ALTER TABLE custom_tools
        ALTER COLUMN input_schema TYPE ${type} USING input_schema::${type},
        ALTER COLUMN definitions TYPE ${type} USING definitions::${type}`);
    // A column that a trigger names cannot change.
    await runner.query(`
      DROP TRIGGER custom_tool_revisions_immutable ON custom_tool_revisions;
      ALTER TABLE custom_tool_revisions
        ALTER COLUMN configuration TYPE ${type} USING configuration::${type};
      CREATE TRIGGER custom_tool_revisions_immutable
        BEFORE UPDATE OF tool_id, revision, content_hash, configuration, files, source, restores, created_by, created_at
        ON custom_tool_revisions FOR EACH ROW EXECUTE FUNCTION custom_tool_revision_is_immutable()`);
  }
}
