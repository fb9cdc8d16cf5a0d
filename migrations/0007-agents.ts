import { FirstTables } from './first-tables.js';

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
    PERFORM pg_notify('toolkeeper', 'playbook_catalog');
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

/** Requests are `json`, not `jsonb`: models see the members of a tool's schema in the order of their author. */
const experiments = `
  CREATE TABLE experiments (
    id                uuid PRIMARY KEY,
    project           text NOT NULL,
    name              text NOT NULL,
    description       text,
    -- NULL: made from a request of its author's own.
    original_span_id  text,
    original_trace_id text,
    original_request  json NOT NULL,
    -- The answer and the figures of the span, kept here: the span itself goes with its day.
    original_result   json,
    thread_id         text,
    modified_request  json NOT NULL,
    headers           json NOT NULL,
    prompt_variables  json NOT NULL,
    model_parameters  json NOT NULL,
    status            text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'running', 'completed', 'failed')),
    -- Of the latest run, and when it began: one whose server died is over when its time is.
    run_id            uuid,
    run_started_at    timestamptz,
    result            json,
    error             text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX experiments_by_project ON experiments (project, created_at DESC, id);
  CREATE INDEX experiments_by_span ON experiments (project, original_span_id)`;

const uiSessions = `
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

/** The catalogue of playbooks, experiments, tabs of the console, and chats with the assistant. */
export class Agents1764000070000 extends FirstTables {
  protected readonly statements = [playbooks, playbookSearch, experiments, uiSessions, assistant];
}
