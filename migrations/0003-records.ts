import { FirstTables } from './first-tables.js';
import { own, shown, spanDays, spans, spanViews } from './0003-spans.sql.js';

/** Executions by day, so that old ones go in one piece. */
const toolMetrics = `
  CREATE TABLE tool_metrics (
    metric_id         uuid NOT NULL DEFAULT gen_random_uuid(),
    tool_name         text NOT NULL,
    user_id           text NOT NULL,
    session_id        text,
    request_id        text,
    investigation_id  text,
    run_id            text,
    status            text NOT NULL DEFAULT 'success',
    execution_time_ms integer NOT NULL DEFAULT 0,
    error_type        text,
    error_message     text,
    parameters_hash   text,
    input_size        integer NOT NULL DEFAULT 0,
    output_size       integer NOT NULL DEFAULT 0,
    metadata          jsonb NOT NULL DEFAULT '{}',
    is_test           boolean NOT NULL DEFAULT false,
    tool_fault        boolean NOT NULL DEFAULT false,
    -- Milliseconds, as the program counts: a page's cursor and inclusive bounds compare exactly.
    recorded_at       timestamptz(3) NOT NULL DEFAULT now(),
    -- Why the answer was wrong although the execution came to its end; null: nobody said so.
    semantic_failure  text,
    -- NULL where the call named no trace, and no run, thread, session or investigation either.
    trace_id          text,
    parent_span_id    text,
    PRIMARY KEY (recorded_at, metric_id)
  ) PARTITION BY RANGE (recorded_at);
  CREATE TABLE tool_metrics_default PARTITION OF tool_metrics DEFAULT;
  -- Ascending and without the ids: it grows at its right end and keeps equal times once, which takes an eighth off what a
  -- row costs to write. The few rows of one millisecond are sorted when they are read.
  CREATE INDEX tool_metrics_by_tool ON tool_metrics (tool_name, recorded_at);
  CREATE INDEX tool_metrics_failures_by_tool ON tool_metrics (tool_name, recorded_at DESC, metric_id DESC)
    WHERE status <> 'success';
  CREATE INDEX tool_metrics_failures_by_time ON tool_metrics (recorded_at DESC, metric_id DESC)
    WHERE status <> 'success';
  CREATE INDEX tool_metrics_slow ON tool_metrics (execution_time_ms DESC, recorded_at DESC)
    WHERE execution_time_ms >= 1000;
  CREATE INDEX tool_metrics_by_investigation ON tool_metrics (investigation_id, recorded_at DESC, metric_id DESC)
    WHERE investigation_id IS NOT NULL;
  CREATE INDEX tool_metrics_by_run ON tool_metrics (run_id, recorded_at DESC, metric_id DESC)
    WHERE run_id IS NOT NULL;
  -- Where nobody says who calls there is nothing to look for.
  CREATE INDEX tool_metrics_by_user ON tool_metrics (user_id, recorded_at DESC, metric_id DESC)
    WHERE user_id <> 'anonymous';
  CREATE INDEX tool_metrics_by_session ON tool_metrics (session_id, recorded_at DESC, metric_id DESC)
    WHERE session_id IS NOT NULL;
  CREATE INDEX tool_metrics_by_request ON tool_metrics (request_id);
  -- The same expressions as in the view all_spans, so that it is read by them.
  CREATE INDEX tool_metrics_span_by_trace ON tool_metrics (trace_id) ${shown};
  CREATE INDEX tool_metrics_span_by_id ON tool_metrics ((${own.spanId})) ${shown};
  CREATE INDEX tool_metrics_span_by_run ON tool_metrics ((${own.runId})) ${shown};
  CREATE INDEX tool_metrics_span_by_thread ON tool_metrics ((${own.threadId})) ${shown};
  CREATE INDEX tool_metrics_span_by_time ON tool_metrics ((${own.project}), (${own.startUs})) ${shown};
  -- Traces look for the marks of their executions. Few executions have one.
  CREATE INDEX tool_metrics_marked ON tool_metrics (metric_id) WHERE semantic_failure IS NOT NULL;

  -- Records of executions that the database refused: kept as they are until somebody looks.
  CREATE TABLE tool_metrics_quarantine (
    metric_id      text PRIMARY KEY,
    tool_name      text NOT NULL,
    reason         text NOT NULL,
    -- The record as JSON, byte for byte: jsonb would refuse what the metrics' table refused.
    record         text NOT NULL,
    quarantined_at timestamptz NOT NULL DEFAULT now()
  )`;

/** A cell a span of time, tool, kind of end and writer; \`seconds\` is the span's length: 60, 3600 or 86400. */
const rollups = `
  CREATE TABLE tool_metric_rollups (
    seconds           integer NOT NULL,
    starts_at         timestamptz(3) NOT NULL,
    tool_name         text NOT NULL,
    status            text NOT NULL,
    error_type        text NOT NULL,
    is_test           boolean NOT NULL,
    -- Replicas that write side by side never wait for each other's cells.
    writer            integer NOT NULL,
    calls             bigint NOT NULL,
    total_ms          bigint NOT NULL,
    min_ms            integer,
    max_ms            integer,
    input_bytes       bigint NOT NULL,
    output_bytes      bigint NOT NULL,
    semantic_failures bigint NOT NULL,
    last_at           timestamptz(3),
    latency           bytea NOT NULL,
    -- Failures that are their callers' errors.
    caller_errors     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (seconds, starts_at, tool_name, status, error_type, is_test, writer)
  ) PARTITION BY RANGE (starts_at);
  CREATE TABLE tool_metric_rollups_default PARTITION OF tool_metric_rollups DEFAULT WITH (fillfactor = 70);

  -- On which day each tool was last executed, so that the last use of all of them is read out of a day or two instead of
  -- searched for in all that are kept.
  CREATE TABLE tool_last_days (
    tool_name text NOT NULL,
    is_test   boolean NOT NULL,
    -- When the newest day begins that has executions of it (UTC), as their cells have it.
    day       timestamptz(3) NOT NULL,
    PRIMARY KEY (tool_name, is_test)
  );

  -- An operator who empties the executions by hand empties what is known of them as well.
  CREATE FUNCTION empty_tool_metric_rollups() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    TRUNCATE tool_metric_rollups, tool_last_days;
    RETURN NULL;
  END $$;
  CREATE TRIGGER tool_metrics_emptied AFTER TRUNCATE ON tool_metrics
    FOR EACH STATEMENT EXECUTE FUNCTION empty_tool_metric_rollups()`;

/** Durations in buckets of 4 %; an entry is 32 bits: 10 of bucket, 2 of place, 20 of digit. A bucket may have several. */
const latencies = `
  CREATE FUNCTION metric_latency_bucket(milliseconds integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN milliseconds < 1 THEN 0 ELSE 1 + floor(ln(milliseconds::float8) / ln(1.04::float8))::integer END;
  CREATE FUNCTION metric_latency_entry(bucket integer, executions bigint) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN executions < 1048576 THEN int4send((bucket << 22) | executions::integer)
      ELSE int4send((bucket << 22) | (executions & 1048575)::integer)
        || int4send((bucket << 22) | (1 << 20) | ((executions >> 20) & 1048575)::integer)
        || int4send((bucket << 22) | (2 << 20) | ((executions >> 40) & 1048575)::integer) END;
  CREATE FUNCTION metric_latency_compacted(entries bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
      SELECT coalesce(string_agg(metric_latency_entry(bucket, executions), ''::bytea), ''::bytea)
      FROM (
        SELECT (code >> 22) & 1023 AS bucket, sum((code & 1048575)::bigint << (20 * ((code >> 20) & 3)))::bigint AS executions
        FROM (
          SELECT (get_byte(entries, 4 * i) << 24) | (get_byte(entries, 4 * i + 1) << 16)
               | (get_byte(entries, 4 * i + 2) << 8) | get_byte(entries, 4 * i + 3) AS code
          FROM generate_series(0, length(entries) / 4 - 1) AS i
        ) AS codes
        GROUP BY 1
      ) AS buckets
    )`;

/**
 * Makes a day's partitions of both tables, unless they are there, and moves into them the rows that had to wait in the
 * default ones. Statements that run meanwhile are not held up: only the default partitions are locked.
 */
const days = `
  CREATE FUNCTION make_tool_metrics_day(day date) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    suffix text := to_char(day, 'YYYYMMDD');
    starts text := day || ' 00:00:00+00';
    ends text := (day + 1) || ' 00:00:00+00';
    parent record;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('make_tool_metrics_day'));
    IF to_regclass('tool_metrics_' || suffix) IS NOT NULL THEN
      RETURN false;
    END IF;
    LOCK TABLE tool_metrics_default, tool_metric_rollups_default IN ACCESS EXCLUSIVE MODE;
    FOR parent IN
      SELECT * FROM (VALUES ('tool_metrics', 'recorded_at', 100), ('tool_metric_rollups', 'starts_at', 70))
        AS parents (name, key, fill)
    LOOP
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (fillfactor = %s)',
        parent.name || '_' || suffix, parent.name, parent.fill);
      EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
        parent.name || '_default', parent.key, starts, parent.key, ends, parent.name || '_' || suffix);
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent.name, parent.name || '_' || suffix, starts, ends);
    END LOOP;
    RETURN true;
  END $$;
  SELECT make_tool_metrics_day((now() AT TIME ZONE 'UTC')::date + ahead) FROM generate_series(0, 7) AS ahead`;

const payloads = `
  -- Inputs and answers of executions, of tools whose capture says so. One row is written at most once; it goes
  -- when its time is over, whether its execution is still there or not.
  CREATE TABLE execution_payloads (
    metric_id   uuid PRIMARY KEY,
    recorded_at timestamptz(3) NOT NULL,
    -- The input in one line, for lists.
    preview     text NOT NULL,
    -- JSON as text: jsonb would refuse what a tool may answer.
    payload     text NOT NULL
  );
  CREATE INDEX execution_payloads_by_time ON execution_payloads (recorded_at)`;

/** Executions, their figures and payloads, and spans. */
export class Records1764000030000 extends FirstTables {
  protected readonly statements = [
    toolMetrics,
    rollups,
    latencies,
    days,
    payloads,
    spans,
    spanDays,
    spanViews,
  ];
}
