import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { CircuitStateView, MaybeUnavailable } from '../../call/circuits/circuit.dto.js';
import {
  Example,
  Many,
  NullableNumber,
  NullableText,
  OneOfThese,
  OptionalExample,
  OptionalInt,
  OptionalMoment,
  OrNull,
  PageOf,
  ProjectQuery,
  Texts,
} from '../../web/rest/dto.js';

const healthStatuses = ['healthy', 'degraded', 'unhealthy', 'unknown'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

const healthRules = ['ever_executed', 'minimum_calls', 'success_rate', 'avg_latency'] as const;

const checkedAtExample = '2026-01-23T10:30:00.000Z';

export class HealthPeriodQuery extends ProjectQuery {
  @OptionalInt(1, 8_760, { example: 1, default: 1, description: 'Length of the period before now, in hours' })
  readonly periodHours!: number;
}

export class HealthReasonView {
  @OneOfThese(healthRules, 'success_rate', 'The rule that decided')
  readonly rule!: (typeof healthRules)[number];
  @Example(0.85, 'Rates 0 to 1, latencies in milliseconds') readonly figure!: number;
  @Example(0.95, "The tool's limit for the figure") readonly threshold!: number;
  @OptionalExample(3, "Failures that are not callers' errors; absent without callers' errors")
  readonly toolFaults?: number;
  @OptionalExample(
    5,
    'Failures that are not graded: inputs that the tool refused, cancelled calls, short deadlines',
  )
  readonly callerErrors?: number;
  @NullableText(
    checkedAtExample,
    'Start of this grade; of degraded and unhealthy, of the whole time in which the tool was not healthy; of a first grade, its first call. ' +
      'null if the period is not the last hour, while a new grade may be chance, or if the tool never had a grade other than unknown',
  )
  readonly since!: string | null;
}

export class ToolHealthView extends MaybeUnavailable {
  @Example('log_summary') readonly toolName!: string;
  @OneOfThese(healthStatuses, 'degraded') readonly status!: HealthStatus;
  @Example(0.85, '0 to 1, four decimals') readonly successRate!: number;
  @Example(150.5, 'Mean in milliseconds, two decimals') readonly avgLatencyMs!: number;
  @Example(100) readonly totalCalls!: number;
  @Example(15, 'Errors and timeouts') readonly recentErrors!: number;
  @Example(0.15, 'Share of errors and timeouts, 0 to 1') readonly failureRate!: number;
  @Example(
    0.02,
    'Share of calls that took `slowCallMs` or longer, 0 to 1. They are counted in buckets, so a duration within 2 % of ' +
      'the limit may be on either side',
  )
  readonly slowCallRate!: number;
  @Example(5000, "The tool's limit of a slow call") readonly slowCallMs!: number;
  @Example(120, 'Milliseconds. All percentiles are at most 2 % off') readonly p50LatencyMs!: number;
  @Example(480) readonly p95LatencyMs!: number;
  @Example(900) readonly p99LatencyMs!: number;
  @Example(1, 'Executions marked as wrong; they affect neither success rate nor grade')
  readonly semanticFailures!: number;
  @Example(4, 'Executions marked as wrong, and answers that report an error') readonly findings!: number;
  @Texts(['Success rate is 85.0% (target: ≥95.0%)']) readonly issues!: readonly string[];
  @Texts(['Investigate recent error patterns']) readonly recommendations!: readonly string[];
  @Many(HealthReasonView, 'Which rules decided the status') readonly why!: readonly HealthReasonView[];
  @Example(checkedAtExample) readonly checkedAt!: string;
}

export class LastErrorView {
  @Example(checkedAtExample) readonly at!: string;
  @ApiProperty({ format: 'uuid' }) readonly executionId!: string;
  @NullableText('tool_error') readonly errorType!: string | null;
  @NullableText('could not connect to server: Connection refused') readonly message!: string | null;
}

/** How a tool is doing now: its last five minutes. Callers' errors and test calls are not counted. */
@ApiExtraModels(LastErrorView)
export class ToolNowView {
  @Example(41, 'Calls of the last five minutes') readonly calls!: number;
  @Example(41) readonly failures!: number;
  @Example(1, '0 to 1, four decimals') readonly failureRate!: number;
  @Example(4, 'Answers that report an error, or were marked as wrong') readonly findings!: number;
  @NullableNumber(480, 'Milliseconds, at most 2 % off; null without calls')
  readonly p95LatencyMs!: number | null;
  @NullableText(
    checkedAtExample,
    'First failure of the current outage; null without one. In an outage, the success rate is clearly below the limit of `degraded`',
  )
  readonly failingSince!: string | null;
  @NullableText(
    null,
    'Last failure of an outage that is over, to the minute if some calls still fail; null during an outage, or without one in the last hour',
  )
  readonly recoveringSince!: string | null;
  @Example(41, 'Calls since `failingSince` or `recoveringSince`') readonly callsSince!: number;
  @Example(41, 'Failures among `callsSince`') readonly failuresSince!: number;
  @Example(3, 'Callers of the newest 1,000 failures since `failingSince`; 0 without a current outage')
  readonly callersSince!: number;
  @OrNull(LastErrorView, 'The newest failure; null unless the tool fails or recovers')
  readonly lastError!: LastErrorView | null;
}

/** Health report of one tool, and how it is doing now. */
export class ToolHealthNowView extends ToolHealthView {
  @ApiProperty({ type: ToolNowView }) readonly now!: ToolNowView;
}

const CountsByBucket = (description: string): PropertyDecorator =>
  ApiProperty({ type: 'array', items: { type: 'integer' }, example: [4, 0, 7], description });

/** A tool's calls and failures over the period, for a small chart. */
export class ToolTrendView {
  @Example(120_000, 'Length of a bucket') readonly bucketMs!: number;
  @CountsByBucket('Calls per bucket, oldest first; the last one is not over')
  readonly calls!: readonly number[];
  @CountsByBucket('Errors and timeouts per bucket') readonly failures!: readonly number[];
}

/** Calls that were refused with one code. */
export class RefusalCountView {
  @Example('circuit_open', 'Error code in the response to the caller') readonly code!: string;
  @ApiProperty({ type: 'integer', example: 12 }) readonly count!: number;
}

/** A tool's report among those of all. */
@ApiExtraModels(ToolTrendView)
export class ToolReportView extends ToolHealthNowView {
  @NullableText(
    checkedAtExample,
    'Last call of any project; null if it was never called, or if the report is of some projects',
  )
  readonly lastUsed!: string | null;
  @OrNull(ToolTrendView, 'null without calls') readonly trend!: ToolTrendView | null;
  @Example(0.95, "The tool's limit of a healthy success rate, 0 to 1") readonly minSuccessRate!: number;
  @Example(2_000, "The tool's limit of a healthy mean latency, milliseconds")
  readonly maxAvgLatencyMs!: number;
  @Many(
    RefusalCountView,
    'Refused calls of the last hour (for any period) at all replicas; most frequent code first. They are not executions',
  )
  readonly refusals!: readonly RefusalCountView[];
}

export class GradeChangeView {
  @OneOfThese(healthStatuses, 'healthy') readonly from!: HealthStatus;
  @OneOfThese(healthStatuses, 'degraded') readonly to!: HealthStatus;
  @Example('Success rate is 85.0% (target: ≥95.0%)') readonly why!: string;
  @Example(checkedAtExample, 'When the change was detected, to the minute') readonly at!: string;
}

export class GradeChangePageView extends PageOf(GradeChangeView, { description: 'Newest first' }) {}

class StatusCountsView {
  @Example(10) readonly healthy!: number;
  @Example(2) readonly degraded!: number;
  @Example(0) readonly unhealthy!: number;
  @Example(1) readonly unknown!: number;
}

export class SystemHealthView {
  @OneOfThese(healthStatuses, 'degraded', 'The worst known status of a tool')
  readonly status!: HealthStatus;
  @Many(ToolReportView, 'Registered and ever executed tools, by name')
  readonly toolReports!: readonly ToolReportView[];
  @ApiProperty({ type: StatusCountsView }) readonly summary!: StatusCountsView;
  @Many(CircuitStateView, 'Circuits that are not closed, by name of their tools')
  readonly circuits!: readonly CircuitStateView[];
  @Example(checkedAtExample) readonly checkedAt!: string;
}

class SlowExecutionView {
  @Example('heavy_analysis') readonly toolName!: string;
  @Example(8_000) readonly executionTimeMs!: number;
  @Example(checkedAtExample) readonly recordedAt!: string;
}

export class DashboardView {
  @OneOfThese(healthStatuses, 'degraded') readonly overallStatus!: HealthStatus;
  @ApiProperty({ type: StatusCountsView }) readonly summary!: StatusCountsView;
  @Many(ToolHealthView, 'Every tool that is not healthy, unknown ones included')
  readonly toolsNeedingAttention!: readonly ToolHealthView[];
  @Many(SlowExecutionView, 'The ten slowest executions of 5 s or more')
  readonly slowExecutions!: readonly SlowExecutionView[];
  @Example(checkedAtExample) readonly checkedAt!: string;
}

export class ToolHealthSummaryView extends MaybeUnavailable {
  @OneOfThese(healthStatuses, 'healthy') readonly status!: HealthStatus;
  @Example(0.98) readonly successRate!: number;
  @NullableText(checkedAtExample, 'null: never executed') readonly lastUsed!: string | null;
  @Example(150.5) readonly avgLatencyMs!: number;
  @Example(100) readonly totalCalls!: number;
  @Example(2) readonly recentErrors!: number;
}

@ApiExtraModels(ToolHealthSummaryView)
export class HealthSummaryView {
  @OneOfThese(healthStatuses, 'healthy') readonly overallStatus!: HealthStatus;
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(ToolHealthSummaryView) },
    description: 'By tool name',
    example: {
      log_summary: {
        status: 'healthy',
        successRate: 0.98,
        lastUsed: checkedAtExample,
        avgLatencyMs: 150.5,
        totalCalls: 100,
        recentErrors: 2,
      },
    },
  })
  readonly tools!: Readonly<Record<string, ToolHealthSummaryView>>;
  @Example(checkedAtExample) readonly checkedAt!: string;
}

export class ToolHealthInfoView {
  @OneOfThese(healthStatuses, 'healthy', 'Of the last hour') readonly status!: HealthStatus;
  @Example(100, 'Of the last 24 hours') readonly totalCalls!: number;
  @Example(95, 'Among the last 100 executions') readonly successfulCalls!: number;
  @Example(5, 'Among the last 100 executions') readonly failedCalls!: number;
  @Example(0.95, 'Of the last 24 hours') readonly successRate!: number;
  @Example(150.5, 'Of the last 24 hours') readonly avgLatencyMs!: number;
  @NullableText(checkedAtExample) readonly lastSuccess!: string | null;
  @NullableText(checkedAtExample) readonly lastFailure!: string | null;
  @NullableText('Search timed out after 5000ms') readonly lastError!: string | null;
}

export class ErrorPatternsQuery extends HealthPeriodQuery {
  @OptionalMoment({
    example: checkedAtExample,
    description: 'Inclusive; takes precedence over `periodHours`',
  })
  readonly since?: Date;
  @OptionalMoment({ example: checkedAtExample, description: 'Inclusive. Default: now' })
  readonly until?: Date;
  @OptionalInt(1, 1_000, { example: 20, default: 20, description: 'Max entries of `messages`' })
  readonly limit!: number;
}

class ErrorPatternView {
  @Example('timeout') readonly errorType!: string;
  @Example(5) readonly count!: number;
}

/** Failures of one type whose messages differ only in numbers, ids, paths, URLs and quotes. */
export class MessagePatternView {
  @Example('timeout') readonly errorType!: string;
  @Example('Search timed out after <n>ms', 'Empty if the failures have no message') readonly message!: string;
  @Example(4) readonly count!: number;
  @Example(checkedAtExample, 'First one in the period') readonly firstSeen!: string;
  @Example(checkedAtExample) readonly lastSeen!: string;
  @Example('Search timed out after 5000ms', 'Message of the newest failure') readonly example!: string;
  @ApiProperty({ format: 'uuid', description: 'The execution with the message `example`' })
  readonly executionId!: string;
}

export class ErrorPatternsView {
  @Example('log_summary') readonly toolName!: string;
  @Example(10) readonly totalErrors!: number;
  @Many(ErrorPatternView, 'Most frequent first') readonly patterns!: readonly ErrorPatternView[];
  @Texts(['Search timed out after 5000ms'], 'Messages of the five newest failures')
  readonly recentMessages!: readonly string[];
  @Many(MessagePatternView, 'The failures by type and message pattern')
  readonly messages!: readonly MessagePatternView[];
}
