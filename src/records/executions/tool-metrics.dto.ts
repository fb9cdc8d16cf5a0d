import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  Cursor,
  Example,
  Limit,
  Many,
  Moment,
  NullableNumber,
  NullableText,
  OptionalExample,
  OptionalFlag,
  OptionalInt,
  OptionalMoment,
  OptionalOneOf,
  OptionalText,
  PageOf,
  ProjectQuery,
  Text,
  Texts,
} from '../../web/rest/dto.js';
import { executionKinds } from '../../web/contract/tool-call.js';

const dayBefore = '2026-01-22T10:30:00Z';
const now = '2026-01-23T10:30:00Z';
const maxMs = 2_147_483_647;

/** A name or an id, as a filter. */
const Id = (example: string, description?: string): PropertyDecorator =>
  OptionalText(256, { example, ...(description !== undefined && { description }) });
/** The name of a tool, as a filter. */
const OfTool = (): PropertyDecorator => Id('log_summary', 'Default: all tools');

export class PeriodQuery extends ProjectQuery {
  @OptionalMoment({ example: dayBefore, description: 'Inclusive. Default: 24 hours before `until`' })
  readonly since?: Date;
  @OptionalMoment({ example: now, description: 'Inclusive. Default: now' }) readonly until?: Date;
}

export class ErrorsQuery extends ProjectQuery {
  @OfTool() readonly tool?: string;
  @Limit(10) readonly limit!: number;
}

export class SlowQuery extends ProjectQuery {
  @OptionalInt(0, maxMs, { example: 5_000, default: 5_000, description: 'Milliseconds, inclusive' })
  readonly thresholdMs!: number;
  @Limit(20) readonly limit!: number;
}

export class ExecutionsQuery extends ProjectQuery {
  @OfTool() readonly tool?: string;
  @OptionalOneOf(executionKinds, { example: 'resource', description: 'Default: all kinds' })
  readonly kind?: string;
  @OptionalOneOf(['success', 'error', 'timeout'], { example: 'error' }) readonly status?: string;
  @Id('tool_error', 'Failures of this type') readonly errorType?: string;
  @Id('inv-1') readonly investigationId?: string;
  @Id('run-1') readonly runId?: string;
  @Id('user-123') readonly userId?: string;
  @Id('sess-456') readonly sessionId?: string;
  @Id('req-789') readonly requestId?: string;
  @OptionalMoment({ example: dayBefore, description: 'Inclusive' }) readonly since?: Date;
  @OptionalMoment({ example: now, description: 'Inclusive' }) readonly until?: Date;
  @OptionalInt(0, maxMs, { example: 5_000, description: 'Min duration in milliseconds' })
  readonly slowMs?: number;
  @OptionalFlag({ example: true, description: 'Whether the answer reports an error or was marked as wrong' })
  readonly finding?: boolean;
  @Limit(100) readonly limit!: number;
  @Cursor() readonly cursor?: string;
}

export class DuplicatesQuery extends PeriodQuery {
  @OfTool() readonly tool?: string;
  @Id('inv-1', 'Default: calls inside and outside of all investigations') readonly investigationId?: string;
  @Limit(100) readonly limit!: number;
}

export class SemanticFailureBody {
  @Text(500, { example: 'The answer is empty although the log has errors' }) readonly reason!: string;
}

export class CleanupQuery {
  @OptionalInt(0, 36_500, {
    example: 30,
    default: 30,
    description: 'Age in days from which whole days (UTC) are deleted; 0: all but today',
  })
  readonly olderThanDays!: number;
}

/** A recorded execution. Durations in milliseconds, sizes in bytes. */
export class ExecutionView {
  @Example('019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f', "The execution's id") metricId!: string;
  @Example('log_summary') toolName!: string;
  @Example('user-123') userId!: string;
  @Example('support', '`default` if its call named none') project!: string;
  @NullableText('sess-456') sessionId!: string | null;
  @NullableText('req-789') requestId!: string | null;
  @NullableText('inv-1') investigationId!: string | null;
  @NullableText('run-1') runId!: string | null;
  @NullableText(
    '7bba9f33312b3dbb8b2c2c62bb7abe2d',
    'The trace that contains this execution: that of `traceparent`, else its own',
  )
  traceId!: string | null;
  @NullableText('086e83747d0e381e', "The caller's span") parentSpanId!: string | null;
  /** A row with another status counts in totals only. */
  @Example('error', 'success, error or timeout') status!: string;
  @Example(150, 'Milliseconds') executionTimeMs!: number;
  @NullableText('tool_error') errorType!: string | null;
  @NullableText('The log file does not exist') errorMessage!: string | null;
  @NullableText(
    '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    "SHA-256 over the input's canonical JSON",
  )
  parametersHash!: string | null;
  @Example(42, 'Bytes') inputSize!: number;
  @Example(1024, 'Bytes') outputSize!: number;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { attempts: 2, queueMs: 12.5, version: '1.0.0', revision: 3, pid: 4711 },
    description:
      'Attempts (absent: one), milliseconds in the queue (absent: less than one) and of the start, exit code, signal, ' +
      'end of stderr, version, revision, run, labels, ' +
      'the error that its result reports (`semanticError`), who marked it as wrong and when (`marked`)',
  })
  metadata!: Readonly<Record<string, unknown>>;
  @Example(false, 'A test call: statistics do not count it') isTest!: boolean;
  @Example('tool', "A tool, or an MCP server's resource, prompt or completion, which statistics do not count")
  kind!: string;
  @Example(true, "The failure is the tool's own and feeds its circuit") toolFault!: boolean;
  @NullableText(null, 'Why the answer of a successful execution was wrong; null if nobody marked it')
  semanticFailure!: string | null;
  /** To the millisecond. */
  @Example('2026-01-23T10:30:00.000Z', 'Start of the execution') recordedAt!: Date;
  @OptionalExample(
    '{"path":"/var/log/syslog"}',
    'Input in one line of at most 200 characters, if the tool captures it and the caller has the scope `tools:admin`',
  )
  inputPreview?: string;
}

export class StatsPeriodView {
  @Example('2026-01-22T10:30:00.000Z') readonly since!: string;
  @Example('2026-01-23T10:30:00.000Z') readonly until!: string;
}

/** Statistics of a tool; without calls in the period only toolName, totalCalls, successRate, avgTimeMs and period. */
export class ToolStatsView {
  @Example('log_summary') readonly toolName!: string;
  @Example(100) readonly totalCalls!: number;
  @OptionalExample(95) readonly successCount?: number;
  @OptionalExample(3) readonly errorCount?: number;
  @OptionalExample(2) readonly timeoutCount?: number;
  @Example(0.95, '0 to 1') readonly successRate!: number;
  @Example(150.5, 'Milliseconds, two decimals') readonly avgTimeMs!: number;
  @OptionalExample(50) readonly minTimeMs?: number;
  @OptionalExample(500) readonly maxTimeMs?: number;
  @OptionalExample(10_000) readonly totalInputBytes?: number;
  @OptionalExample(50_000) readonly totalOutputBytes?: number;
  @ApiProperty({ type: StatsPeriodView }) readonly period!: StatsPeriodView;
  @OptionalExample(120, 'Milliseconds; percentiles are at most 2 % off') readonly p50TimeMs?: number;
  @OptionalExample(410) readonly p95TimeMs?: number;
  @OptionalExample(480) readonly p99TimeMs?: number;
  @OptionalExample(1, 'Executions whose answer was marked as wrong')
  readonly semanticFailureCount?: number;
  @OptionalExample(4, 'Executions marked as wrong, and answers that report an error')
  readonly findingCount?: number;
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { tool_error: 3, timeout: 2 },
    description: 'Failures by type, most frequent first',
  })
  readonly errorTypes?: Readonly<Record<string, number>>;
}

export class DuplicatesView {
  @Example('log_summary') readonly toolName!: string;
  @NullableText('inv-1', 'null: calls outside of investigations') readonly investigationId!: string | null;
  @Example(10) readonly calls!: number;
  @Example(7, 'Different inputs') readonly distinctCalls!: number;
  @Example(3, 'Calls whose input had been sent before') readonly duplicateCalls!: number;
  @Example(0.3, '0 to 1') readonly duplicateShare!: number;
}

export class DuplicatesPageView extends PageOf(DuplicatesView) {}
export class ExecutionPageView extends PageOf(ExecutionView) {}

export class ToolNamesView {
  @Example(['log_summary', 'text_stats']) readonly data!: string[];
  @NullableText(null) readonly nextCursor!: string | null;
}

export class CleanupView {
  @Example(1_234, 'Metrics deleted') readonly deleted!: number;
}

export class SeriesQuery extends PeriodQuery {
  @OptionalText(256, { example: 'log_summary', description: 'Default: all tools together' })
  readonly tool?: string;
  @OptionalInt(60_000, 31_536_000_000, {
    example: 3_600_000,
    description:
      'Length of a bucket, whole minutes. Default: the smallest with at most 120 buckets, else a day',
  })
  readonly bucketMs?: number;
}

export class SeriesFiguresView {
  @Example(100) readonly calls!: number;
  @Example(3) readonly errors!: number;
  @Example(2) readonly timeouts!: number;
  @Example(4, 'Answers that report an error, or were marked as wrong') readonly findings!: number;
  @NullableNumber(150.5, 'null without calls') readonly avgTimeMs!: number | null;
  @NullableNumber(120, 'At most 2 % off') readonly p50TimeMs!: number | null;
  @NullableNumber(410, 'At most 2 % off') readonly p95TimeMs!: number | null;
}

export class SeriesPointView extends SeriesFiguresView {
  @Example('2026-01-23T10:00:00.000Z', 'Start of the bucket') readonly at!: string;
}

export class SeriesView {
  @Example(3_600_000) readonly bucketMs!: number;
  @ApiProperty({ type: SeriesFiguresView, description: 'Figures of all buckets together' })
  readonly total!: SeriesFiguresView;
  @Many(SeriesPointView, 'Oldest first, without gaps; the first and the last one are whole buckets')
  readonly data!: SeriesPointView[];
}

const callerKinds = ['caller', 'project', 'investigation', 'revision'] as const;

export class CallersQuery extends PeriodQuery {
  @OfTool() readonly tool?: string;
  @OptionalOneOf(callerKinds, {
    example: 'caller',
    default: 'caller',
    description:
      '`caller`: by user id. `investigation` and `revision` need a tool and a period of at most 24 hours; the others count whole hours',
  })
  readonly by!: (typeof callerKinds)[number];
  @Limit(100) readonly limit!: number;
}

export class CallersView {
  @NullableText(
    'alice',
    '`other`: callers beyond the first 200 of a tool and hour; null: calls without such a name',
  )
  readonly name!: string | null;
  @NullableText('support', 'Project of an investigation, else null') readonly project!: string | null;
  @Example(41) readonly calls!: number;
  @Example(40, 'Errors and timeouts') readonly failures!: number;
  @NullableNumber(7, 'Calls that were not run; null for investigations and revisions')
  readonly refusals!: number | null;
}

export class CallersPageView extends PageOf(CallersView, { description: 'Most failures first' }) {}

/** The captured input and answer of an execution. */
export class PayloadView {
  @Example('019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f') readonly executionId!: string;
  @OptionalExample({ text: 'to be or not to be' }, 'Any JSON value') readonly input?: unknown;
  @OptionalExample({ words: 6 }, 'Result of a success; any JSON value') readonly result?: unknown;
  @ApiPropertyOptional({ description: 'Error of a failure: code, type, message and data, as in the outcome' })
  readonly error?: unknown;
  @Texts([], 'Names of the parts that are over 64 KiB and were not stored')
  readonly omitted!: readonly string[];
  @Example(false, "A value of the tool's `env` was removed from the input") readonly redacted!: boolean;
  @Moment('2099-01-01T00:00:00.000Z') readonly keptUntil!: string;
}
