import { FirstTables } from './first-tables.js';

const grades = `
  -- Changes of tools' grades (of their last hour), as whichever replica saw them first.
  CREATE TABLE grade_changes (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tool        text NOT NULL,
    from_status text NOT NULL,
    to_status   text NOT NULL,
    why         text NOT NULL,
    at          timestamptz(3) NOT NULL
  );
  CREATE INDEX grade_changes_by_tool ON grade_changes (tool, seq DESC)`;

const events = `
  -- Events of tools, of all replicas.
  CREATE TABLE tool_events (
    seq   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id    text NOT NULL UNIQUE,
    at    timestamptz(3) NOT NULL,
    -- As readers see it.
    event json NOT NULL
  );

  -- Part of the ids of events, which are the same at all replicas.
  CREATE TABLE tool_events_epoch (epoch text NOT NULL);
  INSERT INTO tool_events_epoch SELECT left(md5(random()::text || clock_timestamp()::text), 12);
  CREATE TRIGGER tool_events_changed AFTER INSERT ON tool_events
    FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed()`;

/** Changes of grades, and events of tools. */
export class Insight1764000060000 extends FirstTables {
  protected readonly statements = [grades, events];
}
