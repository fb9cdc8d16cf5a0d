import type { MigrationInterface, QueryRunner } from 'typeorm';
import { days, latencies, rollups, toolMetrics } from './0001-executions.sql.js';

const toolHealth = `
  -- What happened to the circuits of tools, and who did it by hand.
  CREATE TABLE circuit_transitions (
    transition_id uuid PRIMARY KEY,
    seq           bigint GENERATED ALWAYS AS IDENTITY,
    tool          text NOT NULL,
    from_state    text NOT NULL CHECK (from_state IN ('closed', 'open', 'half_open')),
    to_state      text NOT NULL CHECK (to_state IN ('closed', 'open', 'half_open')),
    reason        text NOT NULL,
    changed_by    text,
    at            timestamptz NOT NULL,
    -- How often in a row it had opened: after a restart the circuit goes on waiting as long as it had come to.
    openings      integer NOT NULL DEFAULT 0
  );
  CREATE INDEX idx_circuit_transitions_tool ON circuit_transitions (tool, seq DESC)`;

const repetition = `
  -- Calls that came with an Idempotency-Key.
  CREATE TABLE idempotency_keys (
    -- The hash of caller, tool and key.
    scope      text PRIMARY KEY,
    tool       text NOT NULL,
    input_hash text NOT NULL,
    -- The id of the execution that has the key; until there is an outcome its gateway keeps the claim alive.
    claim      uuid NOT NULL,
    held_until timestamptz NOT NULL,
    -- Its JSON, as it was answered.
    outcome    text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
  );
  CREATE INDEX idempotency_keys_expired ON idempotency_keys (expires_at)`;

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
    input_schema            jsonb NOT NULL,
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
    updated_at              timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX idx_custom_tools_status ON custom_tools (status);
  ALTER SEQUENCE custom_tool_users OWNED BY custom_tools.user_number;

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
    configuration jsonb NOT NULL,
    env           jsonb NOT NULL,
    files         jsonb NOT NULL,
    source        text NOT NULL CHECK (source IN ('register', 'patch', 'import', 'reload', 'rollback')),
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

/** Versioned remediation procedures, and what became of them. */
const playbooks = `
  CREATE TABLE playbook_catalog (
    playbook_id               text NOT NULL,
    version                   text NOT NULL,
    name                      text NOT NULL,
    description               text NOT NULL,
    owner                     text,
    maintainer                text,
    -- json, not jsonb: the author's order of steps and keys is kept
    content                   json NOT NULL,
    content_hash              text NOT NULL CHECK (content_hash ~ '^[0-9a-f]{64}$'),
    labels                    jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
    signals                   text[] NOT NULL DEFAULT '{}',
    aliases                   text[] NOT NULL DEFAULT '{}',
    when_to_use               text,
    when_not_to_use           text,
    status                    text NOT NULL DEFAULT 'active'
      CHECK (status IN ('active', 'disabled', 'deprecated', 'archived')),
    disabled_at               timestamptz,
    disabled_by               text,
    disabled_reason           text,
    is_latest_version         boolean NOT NULL DEFAULT false,
    previous_version          text,
    deprecation_notice        text,
    version_notes             text,
    change_summary            text,
    approved_by               text,
    approved_at               timestamptz,
    expected_success_rate     numeric(4, 3) CHECK (expected_success_rate BETWEEN 0 AND 1),
    expected_duration_seconds integer CHECK (expected_duration_seconds >= 0),
    actual_success_rate       numeric(4, 3) CHECK (actual_success_rate BETWEEN 0 AND 1),
    total_executions          integer NOT NULL DEFAULT 0 CHECK (total_executions >= 0),
    successful_executions     integer NOT NULL DEFAULT 0
      CHECK (successful_executions BETWEEN 0 AND total_executions),
    created_at                timestamptz NOT NULL DEFAULT now(),
    updated_at                timestamptz NOT NULL DEFAULT now(),
    created_by                text,
    updated_by                text,
    PRIMARY KEY (playbook_id, version),
    CHECK ((status = 'disabled') = (disabled_at IS NOT NULL))
  );
  -- The database itself refuses two latest versions, whatever a writer forgets.
  CREATE UNIQUE INDEX idx_playbook_catalog_latest ON playbook_catalog (playbook_id) WHERE is_latest_version;
  CREATE INDEX idx_playbook_catalog_labels ON playbook_catalog USING gin (labels);

  CREATE TABLE playbook_status_changes (
    id          uuid PRIMARY KEY,
    playbook_id text NOT NULL,
    version     text NOT NULL,
    from_status text NOT NULL,
    to_status   text NOT NULL,
    changed_at  timestamptz NOT NULL DEFAULT now(),
    changed_by  text NOT NULL,
    reason      text,
    FOREIGN KEY (playbook_id, version) REFERENCES playbook_catalog ON DELETE CASCADE
  );
  CREATE INDEX playbook_status_changes_of ON playbook_status_changes (playbook_id, version, changed_at);

  -- Only outcomes that name their execution, so that one that is reported twice counts once.
  CREATE TABLE playbook_outcomes (
    playbook_id  text NOT NULL,
    version      text NOT NULL,
    execution_id text NOT NULL,
    success      boolean NOT NULL,
    recorded_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (playbook_id, version, execution_id),
    FOREIGN KEY (playbook_id, version) REFERENCES playbook_catalog ON DELETE CASCADE
  )`;

const playbookSearch = `
  -- The catalogue's revision, by which every replica notices a change, whoever made it.
  CREATE TABLE playbook_catalog_state (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    revision  bigint NOT NULL
  );
  INSERT INTO playbook_catalog_state (revision) VALUES (1);
  -- A trigger, so that a row changed by hand is followed as well. The counter's row is held until the commit:
  -- revisions become visible in their order, and none can be skipped by a reader.
  CREATE FUNCTION playbook_catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE playbook_catalog_state SET revision = revision + 1;
    PERFORM pg_notify('playbook_catalog', '');
    RETURN NULL;
  END $$;
  -- The columns that search reads: statistics and texts that it does not read change without a new revision.
  CREATE TRIGGER playbook_catalog_changed
    AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF name, description, labels, signals, aliases, when_to_use,
      when_not_to_use, status, is_latest_version ON playbook_catalog
    FOR EACH STATEMENT EXECUTE FUNCTION playbook_catalog_changed();

  -- Which playbooks were shown to which investigation: what an agent selects can be held against it. Without a reference
  -- to the catalogue, for playbooks of a Data Storage service are shown as well.
  CREATE TABLE playbook_shown (
    investigation_id text NOT NULL,
    playbook_id      text NOT NULL,
    version          text NOT NULL,
    first_shown_at   timestamptz NOT NULL,
    last_shown_at    timestamptz NOT NULL,
    times            integer NOT NULL,
    expires_at       timestamptz NOT NULL,
    PRIMARY KEY (investigation_id, playbook_id, version)
  );
  CREATE INDEX playbook_shown_expired ON playbook_shown (expires_at);

  -- Playbooks as vectors, one for each provider and text: replicas of two releases, which word the text of a playbook
  -- differently, keep theirs beside each other.
  CREATE TABLE playbook_embeddings (
    provider_id text NOT NULL,
    playbook_id text NOT NULL,
    version     text NOT NULL,
    -- SHA-256 of the text that was embedded
    text_hash   text NOT NULL CHECK (text_hash ~ '^[0-9a-f]{64}$'),
    -- 32 bit floats, little-endian, of length 1: a quarter of the time of real[] to read
    vector      bytea NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0),
    embedded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (provider_id, playbook_id, version, text_hash),
    FOREIGN KEY (playbook_id, version) REFERENCES playbook_catalog ON DELETE CASCADE
  );
  -- For the cascade.
  CREATE INDEX playbook_embeddings_of ON playbook_embeddings (playbook_id, version)`;

const tables = [
  'tool_metrics, tool_metrics_quarantine, tool_metric_rollups, tool_last_days',
  'circuit_transitions, idempotency_keys',
  'custom_tools, custom_tool_imports, custom_tool_revisions',
  'playbook_catalog, playbook_status_changes, playbook_outcomes',
  'playbook_catalog_state, playbook_shown, playbook_embeddings',
];

/** All tables of a new database, room by room. */
export class Initial1764000010000 implements MigrationInterface {
  readonly name = 'Initial1764000010000';

  async up(runner: QueryRunner): Promise<void> {
    for (const sql of [toolMetrics, rollups, latencies, days, toolHealth, repetition])
      await runner.query(sql);
    for (const sql of [customTools, playbooks, playbookSearch]) await runner.query(sql);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE ${tables.join(', ')}`);
    await runner.query(`
      DROP FUNCTION make_tool_metrics_day(date), empty_tool_metric_rollups(), metric_latency_compacted(bytea),
        metric_latency_entry(integer, bigint), metric_latency_bucket(integer), custom_tool_revision_is_immutable(),
        playbook_catalog_changed()`);
  }
}
