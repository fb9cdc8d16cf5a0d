import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { NullableText } from '../../web/rest/dto.js';

/** A column that may be null, and its property in views. */
const NullableColumn = (name: string, example: string | null, description?: string): PropertyDecorator =>
  applyDecorators(Column('text', { name, nullable: true }), NullableText(example, description));

/** The durable record of one execution. Durations in milliseconds, sizes in bytes. */
@Entity('tool_metrics')
export class ToolMetric {
  @PrimaryColumn('uuid', { name: 'metric_id' })
  @ApiProperty({ example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f', description: "The execution's id" })
  metricId!: string;

  @Column('text', { name: 'tool_name' })
  @ApiProperty({ example: 'log_summary' })
  toolName!: string;

  @Column('text', { name: 'user_id' })
  @ApiProperty({ example: 'user-123' })
  userId!: string;

  @NullableColumn('session_id', 'sess-456')
  sessionId!: string | null;

  @NullableColumn('request_id', 'req-789')
  requestId!: string | null;

  @NullableColumn('investigation_id', 'inv-1')
  investigationId!: string | null;

  @NullableColumn('run_id', 'run-1')
  runId!: string | null;

  @NullableColumn(
    'trace_id',
    '7bba9f33312b3dbb8b2c2c62bb7abe2d',
    'Of which it is a span: the trace of `traceparent`, else one of its own',
  )
  traceId!: string | null;

  @NullableColumn('parent_span_id', '086e83747d0e381e', "The caller's span")
  parentSpanId!: string | null;

  /** `success`, `error` or `timeout`; any other word counts in totals only. */
  @Column('text', { default: 'success' })
  @ApiProperty({ example: 'error', description: 'success, error or timeout' })
  status!: string;

  @Column('integer', { name: 'execution_time_ms', default: 0 })
  @ApiProperty({ example: 150, description: 'Milliseconds' })
  executionTimeMs!: number;

  @NullableColumn('error_type', 'tool_error')
  errorType!: string | null;

  @NullableColumn('error_message', 'The log file does not exist')
  errorMessage!: string | null;

  @NullableColumn(
    'parameters_hash',
    '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    "SHA-256 over the input's canonical JSON",
  )
  parametersHash!: string | null;

  @Column('integer', { name: 'input_size', default: 0 })
  @ApiProperty({ example: 42, description: 'Bytes' })
  inputSize!: number;

  @Column('integer', { name: 'output_size', default: 0 })
  @ApiProperty({ example: 1024, description: 'Bytes' })
  outputSize!: number;

  @Column('jsonb', { default: {} })
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { attempts: 2, queueMs: 12.5, version: '1.0.0', revision: 3, pid: 4711 },
    description:
      'Attempts (absent: one), milliseconds in the queue (absent: less than one) and of the start, exit code, signal, ' +
      'end of stderr, version, revision, project (absent: `default`), run, labels, ' +
      'the error that its result tells of (`semanticError`)',
  })
  metadata!: Readonly<Record<string, unknown>>;

  @Column('boolean', { name: 'is_test', default: false })
  @ApiProperty({ example: false, description: 'A test call: it counts in no statistic' })
  isTest!: boolean;

  @Column('boolean', { name: 'tool_fault', default: false })
  @ApiProperty({ example: true, description: "The failure is the tool's own and feeds its circuit" })
  toolFault!: boolean;

  @NullableColumn(
    'semantic_failure',
    null,
    'Why its answer was wrong although it came to its end; null where nobody said so',
  )
  semanticFailure!: string | null;

  /** Start of the execution, to the millisecond. */
  @Column('timestamp with time zone', { name: 'recorded_at', precision: 3, default: () => 'now()' })
  @ApiProperty({ example: '2026-01-23T10:30:00.000Z', description: 'Start of the execution' })
  recordedAt!: Date;
}
