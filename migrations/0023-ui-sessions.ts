import type { MigrationInterface, QueryRunner } from 'typeorm';

const sessions = `
  -- Tabs of the console.
  CREATE TABLE ui_sessions (
    id        text PRIMARY KEY,
    -- The id of its key, or anonymous.
    caller    text NOT NULL,
    -- The tab's last report: route, offers, context.
    page      json NOT NULL,
    -- Other callers that asked to act on the page, by id: name, status, until.
    grants    jsonb NOT NULL DEFAULT '{}',
    -- The tab's open stream; NULL: it has none.
    stream_id text,
    seen_at   timestamptz NOT NULL DEFAULT now()
  );

  -- Executions that wait for a page, and for an hour those that did.
  CREATE TABLE ui_calls (
    -- The execution's.
    id          uuid PRIMARY KEY,
    session_id  text NOT NULL REFERENCES ui_sessions ON DELETE CASCADE,
    caller      text NOT NULL,
    -- NULL: the tab's own caller.
    caller_name text,
    tool        text NOT NULL,
    input       json NOT NULL,
    deadline    timestamptz(3) NOT NULL,
    answer      json,
    -- Nobody waits for an answer any more.
    ended_at    timestamptz
  );
  CREATE INDEX ui_calls_by_session ON ui_calls (session_id);

  CREATE FUNCTION ui_bridge_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify('toolkeeper', 'ui_bridge');
    RETURN NULL;
  END $$;
  -- Not for page and seen_at, which no other replica waits for.
  CREATE TRIGGER ui_sessions_changed AFTER UPDATE OF grants, stream_id ON ui_sessions
    FOR EACH STATEMENT EXECUTE FUNCTION ui_bridge_changed();
  CREATE TRIGGER ui_calls_changed AFTER INSERT OR UPDATE ON ui_calls
    FOR EACH STATEMENT EXECUTE FUNCTION ui_bridge_changed()`;

/** Tabs of the console, and the calls that their pages answer. */
export class UiSessions1764000230000 implements MigrationInterface {
  readonly name = 'UiSessions1764000230000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(sessions);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE ui_calls, ui_sessions');
    await runner.query('DROP FUNCTION ui_bridge_changed()');
  }
}
