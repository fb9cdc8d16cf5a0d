import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rights of callers with an access token, by its claims. */
export class AccessRules1764000530000 implements MigrationInterface {
  readonly name = 'AccessRules1764000530000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE access_rules (
        -- The order in which rules are evaluated.
        position integer PRIMARY KEY,
        -- {"claim": "groups", "value": "sre", "role": "agent"}, and perhaps issuer, projects and tools.
        rule     jsonb NOT NULL
      )`);
    await runner.query(`
      CREATE TRIGGER access_rules_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON access_rules
        FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE access_rules');
  }
}
