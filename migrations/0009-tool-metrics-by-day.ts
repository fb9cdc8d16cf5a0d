import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Executions by day, so that old ones go in one piece, and what statistics are made of: counts by minute up to day. */
export class ToolMetricsByDay1732200090000 implements MigrationInterface {
  readonly name = 'ToolMetricsByDay1732200090000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tool_metrics RENAME TO tool_metrics_undivided');
    await runner.query('ALTER TABLE tool_metrics_undivided DROP CONSTRAINT tool_metrics_pkey');
    await runner.query('DROP INDEX tool_metrics_by_tool, tool_metrics_failures_by_tool');
    await runner.query('DROP INDEX tool_metrics_failures_by_time, tool_metrics_slow');
    await runner.query(rows);
    await runner.query(rollups);
    await runner.query(latencyFunctions);
    await runner.query(newDay);
    await runner.query(emptied);
    await runner.query(`
      SELECT make_tool_metrics_day(day)
      FROM (
        SELECT DISTINCT (recorded_at AT TIME ZONE 'UTC')::date AS day FROM tool_metrics_undivided
        WHERE recorded_at BETWEEN now() - interval '400 days' AND now() + interval '7 days'
        UNION
        SELECT (now() AT TIME ZONE 'UTC')::date + ahead FROM generate_series(0, 7) AS ahead
      ) AS days
      ORDER BY day`);
    await runner.query('INSERT INTO tool_metrics SELECT * FROM tool_metrics_undivided');
    await runner.query(countExisting);
    await runner.query('DROP TABLE tool_metrics_undivided');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE tool_metrics_undivided (LIKE tool_metrics INCLUDING DEFAULTS)');
    await runner.query('ALTER TABLE tool_metrics_undivided DROP COLUMN semantic_failure');
    await runner.query(`
      INSERT INTO tool_metrics_undivided
      SELECT metric_id, tool_name, user_id, session_id, request_id, investigation_id, run_id, status,
             execution_time_ms, error_type, error_message, parameters_hash, input_size, output_size, metadata, is_test,
             tool_fault, recorded_at
      FROM tool_metrics`);
    await runner.query('DROP TABLE tool_metrics, tool_metric_rollups');
    await runner.query('DROP FUNCTION make_tool_metrics_day(date), empty_tool_metric_rollups()');
    await runner.query(`DROP FUNCTION metric_latency_bucket(integer), metric_latency_entry(integer, bigint)`);
    await runner.query('DROP FUNCTION metric_latency_compacted(bytea)');
    await runner.query('ALTER TABLE tool_metrics_undivided RENAME TO tool_metrics');
    await runner.query('ALTER TABLE tool_metrics ADD PRIMARY KEY (recorded_at, metric_id)');
    await runner.query(`
      CREATE INDEX tool_metrics_by_tool ON tool_metrics (tool_name, recorded_at DESC, metric_id DESC)`);
    await runner.query(`
      CREATE INDEX tool_metrics_failures_by_tool ON tool_metrics (tool_name, recorded_at DESC, metric_id DESC)
      WHERE status <> 'success'`);
    await runner.query(`
      CREATE INDEX tool_metrics_failures_by_time ON tool_metrics (recorded_at DESC, metric_id DESC)
      WHERE status <> 'success'`);
    await runner.query(`
      CREATE INDEX tool_metrics_slow ON tool_metrics (execution_time_ms DESC, recorded_at DESC)
      WHERE execution_time_ms >= 1000`);
  }
}

const rows = `
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
    PRIMARY KEY (recorded_at, metric_id)
  ) PARTITION BY RANGE (recorded_at);
  CREATE TABLE tool_metrics_default PARTITION OF tool_metrics DEFAULT;
  CREATE INDEX tool_metrics_by_tool ON tool_metrics (tool_name, recorded_at DESC, metric_id DESC);
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
    WHERE user_id <> 'anonymous'`;

/** A cell a span of time, tool, kind of end and writer; \`seconds\` is the span's length: 60, 600, 3600, 21600, 86400. */
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
    PRIMARY KEY (seconds, starts_at, tool_name, status, error_type, is_test, writer)
  ) PARTITION BY RANGE (starts_at);
  CREATE TABLE tool_metric_rollups_default PARTITION OF tool_metric_rollups DEFAULT WITH (fillfactor = 70)`;

/** Durations in buckets of 4 %; an entry is 32 bits: 10 of bucket, 2 of place, 20 of digit. A bucket may have several. */
const latencyFunctions = `
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
 * Makes a day's partitions of both tables, unless they are there, and moves into them what had to wait in the default
 * ones. Statements that run meanwhile are not held up: only the default partitions are locked.
 */
const newDay = `
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
  END $$`;

/** Who empties the executions by hand empties what counts them as well. */
const emptied = `
  CREATE FUNCTION empty_tool_metric_rollups() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    TRUNCATE tool_metric_rollups;
    RETURN NULL;
  END $$;
  CREATE TRIGGER tool_metrics_emptied AFTER TRUNCATE ON tool_metrics
    FOR EACH STATEMENT EXECUTE FUNCTION empty_tool_metric_rollups()`;

const countExisting = `
  INSERT INTO tool_metric_rollups
  SELECT seconds, starts_at, tool_name, status, error_type, is_test, 0, sum(n), sum(total_ms), min(min_ms), max(max_ms),
         sum(input_bytes), sum(output_bytes), 0, max(last_at), string_agg(metric_latency_entry(bucket, n), ''::bytea)
  FROM (
    SELECT seconds, date_bin(seconds * interval '1 second', recorded_at, '1970-01-01 00:00:00+00') AS starts_at,
           tool_name, status, left(coalesce(error_type, ''), 100) AS error_type, is_test,
           metric_latency_bucket(execution_time_ms) AS bucket, count(*) AS n, sum(execution_time_ms) AS total_ms,
           min(execution_time_ms) AS min_ms, max(execution_time_ms) AS max_ms, sum(input_size) AS input_bytes,
           sum(output_size) AS output_bytes, max(recorded_at) AS last_at
    FROM tool_metrics CROSS JOIN (VALUES (60), (600), (3600), (21600), (86400)) AS spans (seconds)
    GROUP BY 1, 2, 3, 4, 5, 6, 7
  ) AS buckets
  GROUP BY 1, 2, 3, 4, 5, 6`;
