import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Messages are `json`, not `jsonb`: a call is shown and run with the members of its input in the model's order. */
const assistant = `
  CREATE TABLE assistant_chats (
    id         uuid PRIMARY KEY,
    -- The id of the key that the person signed in with; of a server without keys, the user.
    owner      text NOT NULL,
    project    text NOT NULL,
    title      text NOT NULL,
    state      text NOT NULL DEFAULT 'idle'
               CHECK (state IN ('idle', 'running', 'waiting', 'failed', 'stopped', 'interrupted')),
    error      text,
    -- Turns so far; the number is part of the idempotency keys of their calls and never falls.
    turns      integer NOT NULL DEFAULT 0,
    -- The run that may write, and until when: one whose server died is over then.
    run_id     uuid,
    held_until timestamptz,
    ui_session text,
    usage      json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX assistant_chats_by_owner ON assistant_chats (owner, project, updated_at DESC, id DESC);
  CREATE TABLE assistant_messages (
    chat_id  uuid NOT NULL REFERENCES assistant_chats ON DELETE CASCADE,
    position integer NOT NULL,
    message  json NOT NULL,
    PRIMARY KEY (chat_id, position)
  )`;

/** Chats with the assistant. */
export class Assistant1764000270000 implements MigrationInterface {
  readonly name = 'Assistant1764000270000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(assistant);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE assistant_messages; DROP TABLE assistant_chats');
  }
}
