import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Parts of a message that a turn has written since it began: a long message is not written anew with each of them. */
export class AssistantParts1764000400000 implements MigrationInterface {
  readonly name = 'AssistantParts1764000400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE assistant_parts (
        chat_id  uuid NOT NULL,
        position integer NOT NULL,
        place    integer NOT NULL,
        part     json NOT NULL,
        PRIMARY KEY (chat_id, position, place),
        FOREIGN KEY (chat_id, position) REFERENCES assistant_messages ON DELETE CASCADE
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE assistant_parts');
  }
}
