import { FirstTables } from './first-tables.js';

const keys = `
  CREATE TABLE api_keys (
    key_id       text PRIMARY KEY,
    -- SHA-256 of the whole key, which itself is kept nowhere.
    hash         bytea NOT NULL,
    name         text NOT NULL,
    owner        text NOT NULL,
    scopes       text[] NOT NULL,
    -- NULL: all of them.
    projects     text[],
    tools        text[],
    -- {"calls": 100, "per": "minute"}; NULL: no limit.
    rate         jsonb,
    created_at   timestamptz NOT NULL DEFAULT now(),
    created_by   text NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    revoked_by   text,
    last_used_at timestamptz
  );

  -- The revision of the keys, by which every replica notices a change, whoever made it.
  CREATE TABLE api_keys_state (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    revision  bigint NOT NULL
  );
  INSERT INTO api_keys_state (revision) VALUES (1);
  -- The counter's row is held until the commit: revisions become visible in their order.
  CREATE FUNCTION api_keys_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE api_keys_state SET revision = revision + 1;
    PERFORM pg_notify('api_keys', '');
    PERFORM pg_notify('toolkeeper', 'api_keys');
    RETURN NULL;
  END $$;
  -- Not for last_used_at, which changes all the time and decides nothing.
  CREATE TRIGGER api_keys_changed
    AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF hash, owner, scopes, projects, tools, rate, expires_at, revoked_at
    ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION api_keys_changed()`;

const audit = `
  CREATE TABLE audit_entries (
    -- A UUIDv7: in the order of time.
    entry_id    uuid PRIMARY KEY,
    at          timestamptz NOT NULL,
    -- Who: the key, its owner, and from where. Without a key: NULL.
    key_id      text,
    user_id     text NOT NULL,
    address     text,
    request_id  text NOT NULL,
    -- What: the operation as the OpenAPI document names it, on what, and how it ended.
    action      text NOT NULL,
    target      text NOT NULL,
    status      integer NOT NULL,
    -- Unused, but rows of backups have them.
    before_hash text,
    after_hash  text,
    -- Why, as the request gave it.
    reason      text
  );
  CREATE INDEX audit_entries_by_target ON audit_entries (target text_pattern_ops, entry_id DESC);
  CREATE INDEX audit_entries_by_key ON audit_entries (key_id, entry_id DESC)`;

/** API keys, and who did what with the rights of an administrator. */
export class Web1764000020000 extends FirstTables {
  protected readonly statements = [keys, audit];
}
