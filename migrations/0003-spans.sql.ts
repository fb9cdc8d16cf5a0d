/** Parts of an execution as a span has them. Indexes repeat these expressions, and readers compare with them. */
export const own = {
  project: `coalesce(metadata->>'projectId', 'default')`,
  startDay: `(recorded_at AT TIME ZONE 'UTC')::date`,
  spanId: `right(replace(metric_id::text, '-', ''), 16)`,
  threadId: `coalesce(metadata->>'threadId', session_id, investigation_id)`,
  runId: 'coalesce(run_id, trace_id)',
  startUs: `(extract(epoch FROM (recorded_at AT TIME ZONE 'UTC')) * 1000000)::bigint`,
} as const;
export const shown = 'WHERE trace_id IS NOT NULL AND NOT is_test';

export const spans = `
  -- What summaries need of each span, derived once when it came in. By the day of its start (UTC), so that old ones go
  -- in one piece; a day is made when its first span comes.
  CREATE TABLE spans (
    project           text NOT NULL,
    start_day         date NOT NULL,
    trace_id          text NOT NULL,
    span_id           text NOT NULL,
    parent_span_id    text,
    thread_id         text,
    -- The trace where nobody named a run.
    run_id            text NOT NULL,
    -- The span's name.
    operation         text NOT NULL,
    kind              text NOT NULL CHECK (kind IN ('llm', 'tool', 'agent', 'chain', 'other')),
    -- Which part of a model call it is, where that has two spans: of the outer one count cost, latency and text, of the
    -- inner one the tokens, of a whole one all of them. NULL: no model call.
    call_part         text CHECK (call_part IN ('whole', 'outer', 'inner')),
    -- Microseconds since 1970.
    start_us          bigint NOT NULL,
    finish_us         bigint NOT NULL,
    status            text NOT NULL CHECK (status IN ('success', 'error')),
    error_message     text,
    -- The model that answered, and the one that was asked for.
    model             text,
    request_model     text,
    tool_name         text,
    label             text,
    cost              numeric,
    cost_source       text CHECK (cost_source IN ('reported', 'computed')),
    input_tokens      bigint,
    output_tokens     bigint,
    cached_tokens     bigint,
    reasoning_tokens  bigint,
    ttft_us           bigint,
    -- SHA-256 over the canonical JSON of a tool call's arguments; NULL where there are none.
    arguments_hash    text,
    -- Tools that a model asked for, with the hash of their arguments: [{"name", "hash"}].
    tool_calls        jsonb,
    -- Failures that stand in messages of the role tool: [{"tool_name", "tool_call_id", "message"}].
    tool_errors       jsonb,
    -- The API key that sent it; NULL: none.
    key_id            text,
    -- The execution of ours that the span tells of.
    execution_id      uuid,
    semantic_pattern  text,
    semantic_severity text,
    semantic_source   text,
    semantic_snippet  text,
    -- The tool call in whose result the finding stands, so that requests which repeat the result are no findings.
    semantic_call_id  text,
    PRIMARY KEY (project, trace_id, span_id, start_day)
  ) PARTITION BY RANGE (start_day);
  CREATE INDEX spans_by_id ON spans (project, span_id);
  CREATE INDEX spans_by_run ON spans (project, run_id, start_us);
  CREATE INDEX spans_by_thread ON spans (project, thread_id, start_us) WHERE thread_id IS NOT NULL;
  CREATE INDEX spans_by_time ON spans (project, start_us);
  CREATE INDEX spans_by_label ON spans (project, label, start_us) WHERE label IS NOT NULL;
  CREATE INDEX spans_by_execution ON spans (execution_id) WHERE execution_id IS NOT NULL;

  -- What was sent, apart: a summary reads none of it.
  CREATE TABLE span_contents (
    project    text NOT NULL,
    start_day  date NOT NULL,
    trace_id   text NOT NULL,
    span_id    text NOT NULL,
    attributes jsonb NOT NULL,
    PRIMARY KEY (project, trace_id, span_id, start_day)
  ) PARTITION BY RANGE (start_day);

  -- Spans that the database refused: kept as they are until somebody looks.
  CREATE TABLE spans_quarantine (
    project        text NOT NULL,
    trace_id       text NOT NULL,
    span_id        text NOT NULL,
    reason         text NOT NULL,
    record         text NOT NULL,
    quarantined_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project, trace_id, span_id)
  )`;

/** Makes a day's partitions of both tables, unless they are there; statements that run meanwhile are not held up. */
export const spanDays = `
  CREATE FUNCTION make_spans_day(day date) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    suffix text := to_char(day, 'YYYYMMDD');
    parent text;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('make_spans_day'));
    IF to_regclass('spans_' || suffix) IS NOT NULL THEN
      RETURN false;
    END IF;
    FOREACH parent IN ARRAY ARRAY['spans', 'span_contents'] LOOP
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', parent || '_' || suffix, parent);
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, parent || '_' || suffix, day, day + 1);
    END LOOP;
    RETURN true;
  END $$`;

const found = (member: string): string => `metadata->'semanticError'->>'${member}'`;

/**
 * Spans that were sent, and executions of ours as spans of the kind `tool`. An execution that a span of its project and
 * key names is that span: the pair counts once.
 */
export const spanViews = `
  CREATE VIEW all_spans AS
    SELECT project, start_day, trace_id, span_id, parent_span_id, thread_id, run_id, operation, kind, call_part, start_us,
           finish_us, status, error_message, model, request_model, tool_name, label, cost, cost_source, input_tokens,
           output_tokens, cached_tokens, reasoning_tokens, ttft_us, arguments_hash, tool_calls, tool_errors, key_id,
           execution_id, semantic_pattern, semantic_severity, semantic_source, semantic_snippet, semantic_call_id
    FROM spans
  UNION ALL
    SELECT ${own.project}, ${own.startDay}, trace_id, ${own.spanId}, parent_span_id, ${own.threadId}, ${own.runId},
           'tool_call', 'tool', NULL, ${own.startUs}, ${own.startUs} + execution_time_ms * 1000::bigint,
           CASE status WHEN 'success' THEN 'success' ELSE 'error' END, error_message, NULL, NULL, tool_name,
           metadata->'labels'->>'label', NULL::numeric, NULL, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
           -- The hash of {}: no arguments.
           NULL::bigint, nullif(parameters_hash, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'),
           NULL::jsonb, NULL::jsonb, metadata->>'keyId', metric_id, ${found('pattern')}, ${found('severity')},
           CASE WHEN metadata ? 'semanticError' THEN 'output' END, ${found('snippet')}, NULL
    FROM tool_metrics AS execution
    ${shown} AND NOT EXISTS (
      SELECT FROM spans AS told
      WHERE told.execution_id = execution.metric_id AND told.project = ${own.project}
        AND told.start_day BETWEEN ${own.startDay} - 1 AND ${own.startDay} + 1
        AND told.key_id IS NOT DISTINCT FROM execution.metadata->>'keyId'
    );

  -- The raw attributes of either.
  CREATE VIEW all_span_contents AS
    SELECT project, start_day, trace_id, span_id, attributes FROM span_contents
  UNION ALL
    SELECT ${own.project}, ${own.startDay}, trace_id, ${own.spanId},
           jsonb_strip_nulls(jsonb_build_object('gen_ai.operation.name', 'execute_tool', 'gen_ai.tool.name', tool_name,
             'toolkeeper.execution_id', metric_id, 'toolkeeper.status', status, 'error.type', error_type,
             'error', error_message, 'toolkeeper.parameters_hash', parameters_hash,
             'toolkeeper.input_size', input_size, 'toolkeeper.output_size', output_size,
             'toolkeeper.metadata', metadata))
    FROM tool_metrics ${shown}`;
