import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The number of each tool's own user, where the gateway runs as root. A number comes back only after all others have been
 * given: until then nobody owns what a removed tool left behind.
 */
export class ToolUsers1732200230000 implements MigrationInterface {
  readonly name = 'ToolUsers1732200230000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE SEQUENCE custom_tool_users AS integer MINVALUE 0 MAXVALUE 65535 CYCLE');
    await runner.query(`
      ALTER TABLE custom_tools
        ADD COLUMN user_number integer NOT NULL UNIQUE DEFAULT nextval('custom_tool_users')`);
    await runner.query('ALTER SEQUENCE custom_tool_users OWNED BY custom_tools.user_number');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE custom_tools DROP COLUMN user_number');
  }
}
