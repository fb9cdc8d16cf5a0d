import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One channel for all tables. The names of channels before it are notified too: replicas of the version before listen to them. */
const notifications = `
  CREATE FUNCTION toolkeeper_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify('toolkeeper', TG_TABLE_NAME);
    RETURN NULL;
  END $$;
  CREATE OR REPLACE FUNCTION api_keys_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE api_keys_state SET revision = revision + 1;
    PERFORM pg_notify('api_keys', '');
    PERFORM pg_notify('toolkeeper', 'api_keys');
    RETURN NULL;
  END $$;
  CREATE OR REPLACE FUNCTION playbook_catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE playbook_catalog_state SET revision = revision + 1;
    PERFORM pg_notify('playbook_catalog', '');
    PERFORM pg_notify('toolkeeper', 'playbook_catalog');
    RETURN NULL;
  END $$;
  CREATE TRIGGER custom_tools_changed AFTER INSERT OR DELETE OR TRUNCATE ON custom_tools
    FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed();
  -- Not for columns of health, which change at each check.
  CREATE TRIGGER custom_tools_updated AFTER UPDATE ON custom_tools FOR EACH ROW
    WHEN (old.revision <> new.revision OR old.status <> new.status OR old.id <> new.id)
    EXECUTE FUNCTION toolkeeper_changed();
  CREATE TRIGGER circuit_transitions_changed AFTER INSERT ON circuit_transitions
    FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed()`;

const replicas = `
  CREATE TABLE replicas (
    -- Host, process and start.
    id         text PRIMARY KEY,
    host       text NOT NULL,
    version    text NOT NULL,
    -- Base URL at which other replicas reach it; NULL until it listens.
    address    text,
    -- Tier of its sandbox.
    tier       integer,
    started_at timestamptz NOT NULL,
    -- Its last heartbeat.
    seen_at    timestamptz NOT NULL,
    -- The parts of its readiness.
    parts      json NOT NULL
  )`;

/** The replicas that serve on this database, and notifications of what changes. */
export class Replicas1764000300000 implements MigrationInterface {
  readonly name = 'Replicas1764000300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(notifications);
    await runner.query(replicas);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE replicas');
    await runner.query(`
      DROP TRIGGER circuit_transitions_changed ON circuit_transitions;
      DROP TRIGGER custom_tools_updated ON custom_tools;
      DROP TRIGGER custom_tools_changed ON custom_tools;
      DROP FUNCTION toolkeeper_changed`);
  }
}
