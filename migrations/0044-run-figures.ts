import type { MigrationInterface, QueryRunner } from 'typeorm';
import { own, shown } from './0003-spans.sql.js';

const table = `
  CREATE SEQUENCE run_versions;
  -- A row for each run of which there is a span. The triggers below mark it whenever one of its spans comes, changes or goes.
  CREATE TABLE run_figures (
    project  text NOT NULL,
    run_id   text NOT NULL,
    -- Start of its first span, microseconds since 1970. NULL: spans went or changed; it is counted before any list is read.
    start_us bigint,
    -- It has a span that was sent, or more than one call.
    is_agent boolean NOT NULL,
    -- Changes with each mark: figures are stored only if none came while they were counted.
    version  bigint NOT NULL DEFAULT nextval('run_versions'),
    -- Figures as the list of runs shows them. NULL: marked, to be counted when they are read.
    figures  json,
    PRIMARY KEY (project, run_id)
  ) WITH (fillfactor = 70);
  CREATE INDEX run_figures_by_start ON run_figures (project, start_us DESC, run_id);
  CREATE INDEX run_figures_unsettled ON run_figures (project) WHERE start_us IS NULL;

  -- The last run of calls of each investigation, thread or session, as \`investigation:inc-42\`. Milliseconds since 1970.
  CREATE TABLE call_runs (
    project  text NOT NULL,
    subject  text NOT NULL,
    trace_id text NOT NULL,
    first_ms bigint NOT NULL,
    last_ms  bigint NOT NULL,
    PRIMARY KEY (project, subject)
  ) WITH (fillfactor = 70);

  -- Threads that roots of traces name; spans of the trace that name none belong to them. NULL: roots name several.
  CREATE TABLE trace_threads (
    project   text NOT NULL,
    trace_id  text NOT NULL,
    thread_id text,
    PRIMARY KEY (project, trace_id)
  )`;

/** The start of a run that has lost spans. */
const gone = 'NULL::bigint';

/** Marks runs. Writers lock them in one order, so that none waits in a circle. */
const mark = (runs: string): string => `
    INSERT INTO run_figures AS run (project, run_id, start_us, is_agent)
    ${runs}
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (project, run_id) DO UPDATE SET
      start_us = CASE WHEN excluded.start_us IS NOT NULL AND run.start_us IS NOT NULL THEN least(run.start_us, excluded.start_us) END,
      is_agent = true, version = excluded.version, figures = NULL;`;

const ofSpans = (spans: string, start = 'min(start_us)'): string =>
  mark(`SELECT project, run_id, ${start}, true FROM ${spans}`);

/** Executions that no span tells of, as in the view all_spans. */
const ofExecutions = (executions: string): string =>
  mark(`SELECT ${own.project}, ${own.runId}, min(${own.startUs}), count(*) > 1 FROM ${executions} AS execution
    ${shown} AND NOT EXISTS (
      SELECT FROM spans AS told
      WHERE told.execution_id = execution.metric_id AND told.project = ${own.project}
        AND told.start_day BETWEEN ${own.startDay} - 1 AND ${own.startDay} + 1
        AND told.key_id IS NOT DISTINCT FROM execution.metadata->>'keyId'
    )`);

/** Executions that these spans tell of leave the runs that they were in, or come back. */
const ofTold = (spans: string): string =>
  mark(`SELECT ${own.project}, ${own.runId}, NULL::bigint, true FROM tool_metrics
    ${shown} AND ${own.spanId} = ANY (ARRAY(
      SELECT right(replace(execution_id::text, '-', ''), 16) FROM ${spans} WHERE execution_id IS NOT NULL))`);

/** Executions of which a run may lose some: told of or not. */
const executionsGone = (executions: string): string =>
  mark(`SELECT ${own.project}, ${own.runId}, ${gone}, true FROM ${executions} ${shown}`);

/** Spans that came before the root of their trace take its thread; those that come after it are inserted with it. */
const giveThreads = `
    WITH roots AS (
      INSERT INTO trace_threads AS known (project, trace_id, thread_id)
      SELECT project, trace_id, CASE WHEN min(thread_id) = max(thread_id) THEN min(thread_id) END
      FROM changed WHERE parent_span_id IS NULL AND thread_id IS NOT NULL
      GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (project, trace_id) DO UPDATE SET thread_id = NULL
      WHERE known.thread_id IS DISTINCT FROM excluded.thread_id AND known.thread_id IS NOT NULL
      RETURNING project, trace_id, thread_id
    )
    UPDATE spans SET thread_id = roots.thread_id FROM roots
    WHERE spans.project = roots.project AND spans.trace_id = roots.trace_id AND spans.thread_id IS NULL
      AND spans.parent_span_id IS NOT NULL AND roots.thread_id IS NOT NULL;`;

const functions = `
  CREATE FUNCTION mark_runs_of_spans() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      ${ofSpans('changed')}
      ${giveThreads}
    ELSE ${ofSpans('changed', gone)}
    END IF;
    IF TG_OP = 'UPDATE' THEN ${ofSpans('made', gone)}
    END IF;
    IF EXISTS (SELECT FROM changed WHERE execution_id IS NOT NULL) THEN ${ofTold('changed')}
    END IF;
    RETURN NULL;
  END $$;
  CREATE FUNCTION mark_runs_of_executions() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN ${ofExecutions('changed')}
    ELSE ${executionsGone('changed')}
    END IF;
    RETURN NULL;
  END $$;
  CREATE FUNCTION mark_all_runs() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE run_figures SET start_us = NULL, figures = NULL, version = nextval('run_versions');
    RETURN NULL;
  END $$;
  -- Marks the runs of a day's partition, of spans or of executions, that is about to be dropped.
  CREATE FUNCTION mark_runs_of_day(day regclass) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF day::text LIKE '%tool_metrics%' THEN EXECUTE format($sql$ ${executionsGone('%s')} $sql$, day);
    ELSE
      EXECUTE format($sql$ ${ofSpans('%s', gone)} $sql$, day);
      EXECUTE format($sql$ ${ofTold('%s')} $sql$, day);
      EXECUTE format('DELETE FROM trace_threads AS known USING %s AS gone
        WHERE known.project = gone.project AND known.trace_id = gone.trace_id', day);
    END IF;
  END $$`;

/**
 * Puts calls that named no trace and no run into the run of their investigation, thread or session: one goes on while half an
 * hour passes between no two calls. The row's lock makes replicas agree. A call from before the run that is known comes late:
 * it is a run of its own. Times are milliseconds since 1970; places are those of the arrays, from 1.
 */
const callRuns = `
  CREATE FUNCTION join_call_runs(projects text[], subjects text[], firsts bigint[], lasts bigint[])
  RETURNS TABLE (place bigint, trace text) LANGUAGE plpgsql AS $$
  DECLARE
    idle_ms constant bigint := 1800000;
    run call_runs;
    call record;
  BEGIN
    FOR call IN
      SELECT calls.*, subject || ':' || to_char(to_timestamp(first_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS') AS id
      FROM unnest(projects, subjects, firsts, lasts) WITH ORDINALITY AS calls (project, subject, first_ms, last_ms, place)
      ORDER BY project, subject, first_ms
    LOOP
      IF (run.project, run.subject) IS DISTINCT FROM (call.project, call.subject) THEN
        UPDATE call_runs AS known SET trace_id = run.trace_id, first_ms = run.first_ms, last_ms = run.last_ms
        WHERE known.project = run.project AND known.subject = run.subject;
        INSERT INTO call_runs AS known VALUES (call.project, call.subject, call.id, call.first_ms, call.last_ms)
        ON CONFLICT (project, subject) DO UPDATE SET trace_id = known.trace_id
        RETURNING * INTO run;
      END IF;
      IF call.first_ms > run.last_ms + idle_ms THEN
        run.trace_id := call.id;
        run.first_ms := call.first_ms;
      END IF;
      run.last_ms := greatest(run.last_ms, call.last_ms);
      place := call.place;
      trace := CASE WHEN call.last_ms + idle_ms < run.first_ms THEN call.id ELSE run.trace_id END;
      RETURN NEXT;
    END LOOP;
    UPDATE call_runs AS known SET trace_id = run.trace_id, first_ms = run.first_ms, last_ms = run.last_ms
    WHERE known.project = run.project AND known.subject = run.subject;
  END $$`;

const on = (table: string, event: string, rows: string, runs: string): string => `
  CREATE TRIGGER marks_runs_at_${event.toLowerCase()} AFTER ${event} ON ${table} ${rows}
    FOR EACH STATEMENT EXECUTE FUNCTION mark_${runs}();`;
const triggers = [
  on('spans', 'INSERT', 'REFERENCING NEW TABLE AS changed', 'runs_of_spans'),
  on('spans', 'UPDATE', 'REFERENCING OLD TABLE AS changed NEW TABLE AS made', 'runs_of_spans'),
  on('spans', 'DELETE', 'REFERENCING OLD TABLE AS changed', 'runs_of_spans'),
  on('spans', 'TRUNCATE', '', 'all_runs'),
  on('tool_metrics', 'INSERT', 'REFERENCING NEW TABLE AS changed', 'runs_of_executions'),
  on('tool_metrics', 'UPDATE', 'REFERENCING NEW TABLE AS changed', 'runs_of_executions'),
  on('tool_metrics', 'DELETE', 'REFERENCING OLD TABLE AS changed', 'runs_of_executions'),
  // Retention deletes old executions from it directly.
  on('tool_metrics_default', 'DELETE', 'REFERENCING OLD TABLE AS changed', 'runs_of_executions'),
  on('tool_metrics', 'TRUNCATE', '', 'all_runs'),
].join('');

/** Figures of runs, counted when they are read after a change; every run that exists is marked. */
export class RunFigures1764000440000 implements MigrationInterface {
  readonly name = 'RunFigures1764000440000';

  async up(runner: QueryRunner): Promise<void> {
    const existing = [ofSpans('spans'), ofExecutions('tool_metrics')];
    for (const sql of [table, functions, callRuns, triggers, ...existing]) await runner.query(sql);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE run_figures, call_runs, trace_threads;
      DROP FUNCTION mark_runs_of_spans, mark_runs_of_executions, mark_all_runs CASCADE;
      DROP FUNCTION mark_runs_of_day, join_call_runs;
      DROP SEQUENCE run_versions`);
  }
}
