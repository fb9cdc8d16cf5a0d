import type { MigrationInterface, QueryRunner } from 'typeorm';
import { own, shown, spanViews } from './0003-spans.sql.js';

const found = (member: string): string => `metadata->'semanticError'->>'${member}'`;

/** The view of 0003, with the agent whose access token a span came with. */
const view = `
  CREATE OR REPLACE VIEW all_spans AS
    SELECT project, start_day, trace_id, span_id, parent_span_id, thread_id, run_id, operation, kind, call_part, start_us,
           finish_us, status, error_message, model, request_model, tool_name, label, cost, cost_source, input_tokens,
           output_tokens, cached_tokens, reasoning_tokens, ttft_us, arguments_hash, tool_calls, tool_errors, key_id,
           execution_id, semantic_pattern, semantic_severity, semantic_source, semantic_snippet, semantic_call_id, client_id
    FROM spans
  UNION ALL
    SELECT ${own.project}, ${own.startDay}, trace_id, ${own.spanId}, parent_span_id, ${own.threadId}, ${own.runId},
           'tool_call', 'tool', NULL, ${own.startUs}, ${own.startUs} + execution_time_ms * 1000::bigint,
           CASE status WHEN 'success' THEN 'success' ELSE 'error' END, error_message, NULL, NULL, tool_name,
           metadata->'labels'->>'label', NULL::numeric, NULL, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
           NULL::bigint, nullif(parameters_hash, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'),
           NULL::jsonb, NULL::jsonb, metadata->>'keyId', metric_id, ${found('pattern')}, ${found('severity')},
           CASE WHEN metadata ? 'semanticError' THEN 'output' END, ${found('snippet')}, NULL, metadata->>'clientId'
    FROM tool_metrics AS execution
    ${shown} AND NOT EXISTS (
      SELECT FROM spans AS told
      WHERE told.execution_id = execution.metric_id AND told.project = ${own.project}
        AND told.start_day BETWEEN ${own.startDay} - 1 AND ${own.startDay} + 1
        AND told.key_id IS NOT DISTINCT FROM execution.metadata->>'keyId'
    )`;

/** The agent of spans that came with an access token. */
export class SpanClients1764000560000 implements MigrationInterface {
  readonly name = 'SpanClients1764000560000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE spans ADD COLUMN client_id text');
    await runner.query(view);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW all_spans');
    await runner.query('ALTER TABLE spans DROP COLUMN client_id');
    await runner.query(spanViews.slice(0, spanViews.indexOf(';')));
  }
}
