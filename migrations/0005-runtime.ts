import { FirstTables } from './first-tables.js';

/** The files that a custom tool brings along: they are kept here, so that every replica has them. */
const bundles = `
  CREATE TABLE tool_bundles (
    -- SHA-256 of the files as they were uploaded.
    hash        text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),
    -- A gzipped tar of them.
    archive     bytea NOT NULL,
    files       integer NOT NULL,
    bytes       bigint NOT NULL,
    -- Unused, but rows of backups have it.
    install_log text,
    -- The last upload: what was uploaded a moment ago may not stand in a revision yet.
    uploaded_at timestamptz NOT NULL DEFAULT now()
  );
  -- It is compressed already.
  ALTER TABLE tool_bundles ALTER COLUMN archive SET STORAGE EXTERNAL`;

const customTools = `
  -- A number comes back only after all others have been given: until then nobody owns what a removed tool left behind.
  CREATE SEQUENCE custom_tool_users AS integer MINVALUE 0 MAXVALUE 65535 CYCLE;
  CREATE TABLE custom_tools (
    id                      uuid PRIMARY KEY,
    name                    text NOT NULL UNIQUE,
    description             text NOT NULL,
    version                 text NOT NULL,
    command                 text NOT NULL,
    -- Where the command led when the tool was registered; null: not yet known, the next start that works fills it.
    pinned_command          text,
    args                    jsonb NOT NULL DEFAULT '[]',
    working_dir             text,
    env                     jsonb NOT NULL DEFAULT '{}',
    -- json keeps the properties of a schema in the order of their author
    input_schema            json NOT NULL,
    timeout_ms              integer NOT NULL DEFAULT 30000,
    max_retries             integer NOT NULL DEFAULT 0,
    retry_delay_ms          integer NOT NULL DEFAULT 1000,
    pool_size               integer NOT NULL DEFAULT 1,
    min_processes           integer NOT NULL DEFAULT 0,
    max_concurrency         integer NOT NULL DEFAULT 1,
    keep_alive              boolean NOT NULL DEFAULT false,
    annotations             jsonb NOT NULL DEFAULT '{}',
    sandbox                 jsonb,
    permissions             jsonb,
    fallback                jsonb,
    calls_per_investigation integer,
    -- Where its health is judged by other limits than the defaults; null: nowhere.
    thresholds              jsonb,
    -- How long its result answers equal calls, in milliseconds; null: not at all.
    cache_ttl_ms            integer,
    status                  text NOT NULL DEFAULT 'inactive' CHECK (status IN ('active', 'inactive', 'error')),
    last_health_check       timestamptz,
    health_status           text NOT NULL DEFAULT 'unknown'
      CHECK (health_status IN ('healthy', 'degraded', 'unhealthy', 'unknown')),
    error_message           text,
    tags                    jsonb NOT NULL DEFAULT '[]',
    metadata                jsonb NOT NULL DEFAULT '{}',
    revision                integer NOT NULL DEFAULT 0,
    -- The number of the tool's own user, where the gateway runs as root.
    user_number             integer NOT NULL UNIQUE DEFAULT nextval('custom_tool_users'),
    created_at              timestamptz NOT NULL DEFAULT now(),
    updated_at              timestamptz NOT NULL DEFAULT now(),
    protocol                text NOT NULL DEFAULT 'jsonrpc' CHECK (protocol IN ('jsonrpc', 'mcp')),
    -- Approved tools of an MCP server.
    definitions             json,
    -- Address of an MCP server, and its headers, which name variables of env.
    url                     text,
    headers                 jsonb,
    semantic_errors         text NOT NULL DEFAULT 'show' CHECK (semantic_errors IN ('off', 'show', 'mark')),
    capture                 text NOT NULL DEFAULT 'none' CHECK (capture IN ('none', 'failures', 'all')),
    bundle                  text REFERENCES tool_bundles (hash),
    -- Callers that share the tool's processes.
    isolation               text NOT NULL DEFAULT 'shared' CHECK (isolation IN ('project', 'shared'))
  );
  CREATE INDEX idx_custom_tools_status ON custom_tools (status);
  ALTER SEQUENCE custom_tool_users OWNED BY custom_tools.user_number;
  CREATE TRIGGER custom_tools_changed AFTER INSERT OR DELETE OR TRUNCATE ON custom_tools
    FOR EACH STATEMENT EXECUTE FUNCTION toolkeeper_changed();
  -- Not for columns of health, which change at each check.
  CREATE TRIGGER custom_tools_updated AFTER UPDATE ON custom_tools FOR EACH ROW
    WHEN (old.revision <> new.revision OR old.status <> new.status OR old.id <> new.id)
    EXECUTE FUNCTION toolkeeper_changed();

  -- Kept when its tool is deleted over the API: the tool stays deleted until the file's content changes.
  CREATE TABLE custom_tool_imports (
    path         text PRIMARY KEY,
    content_hash text NOT NULL,
    imported_at  timestamptz NOT NULL DEFAULT now()
  );

  -- What every custom tool was at any time. The rows never change; they go with their tool.
  CREATE TABLE custom_tool_revisions (
    tool_id       uuid NOT NULL REFERENCES custom_tools (id) ON DELETE CASCADE,
    revision      integer NOT NULL CHECK (revision > 0),
    content_hash  text NOT NULL,
    configuration json NOT NULL,
    env           jsonb NOT NULL,
    files         jsonb NOT NULL,
    source        text NOT NULL
      CHECK (source IN ('register', 'patch', 'import', 'reload', 'rollback', 'approve', 'bundle')),
    restores      integer,
    created_by    text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tool_id, revision)
  );
  CREATE INDEX idx_custom_tool_revisions_content ON custom_tool_revisions (tool_id, content_hash, revision);
  CREATE FUNCTION custom_tool_revision_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'revisions of custom tools never change';
  END $$;
  -- env alone may be written again: its values are encrypted under a key that may be rotated.
  CREATE TRIGGER custom_tool_revisions_immutable
    BEFORE UPDATE OF tool_id, revision, content_hash, configuration, files, source, restores, created_by, created_at
    ON custom_tool_revisions FOR EACH ROW EXECUTE FUNCTION custom_tool_revision_is_immutable()`;

const conditions = `
  -- Only of tools that are not well at a replica.
  CREATE TABLE tool_conditions (
    tool    text NOT NULL,
    replica text NOT NULL,
    status  text NOT NULL,
    health  text NOT NULL,
    error   text,
    PRIMARY KEY (tool, replica)
  )`;

/** Custom tools, their revisions and bundles, and where they do not work. */
export class Runtime1764000050000 extends FirstTables {
  protected readonly statements = [bundles, customTools, conditions];
}
