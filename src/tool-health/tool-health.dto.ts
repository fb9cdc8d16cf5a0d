import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, Max, Min } from 'class-validator';
import { type HealthStatus, healthStatuses } from './grading.js';

const checkedAtExample = '2026-01-23T10:30:00.000Z';

export class HealthPeriodQuery {
  @ApiPropertyOptional({
    example: 1,
    default: 1,
    minimum: 1,
    maximum: 8_760,
    description: 'How far back calls count',
  })
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(8_760)
  readonly periodHours: number = 1;
}

export class ErrorPatternsQuery {
  @ApiPropertyOptional({
    example: 20,
    default: 20,
    minimum: 1,
    maximum: 1_000,
    description: 'Newest failures to read',
  })
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(1_000)
  readonly limit: number = 20;
}

/** Health report of one tool (seed 000's ToolHealthReport). */
export class ToolHealthReport {
  @ApiProperty({ example: 'log_summary' })
  readonly toolName!: string;

  @ApiProperty({ enum: healthStatuses, example: 'degraded' })
  readonly status!: HealthStatus;

  @ApiProperty({ example: 0.85, description: '0 to 1, four decimals' })
  readonly successRate!: number;

  @ApiProperty({ example: 150.5, description: 'Mean in milliseconds, two decimals' })
  readonly avgLatencyMs!: number;

  @ApiProperty({ example: 100 })
  readonly totalCalls!: number;

  @ApiProperty({ example: 15, description: 'Errors and timeouts' })
  readonly recentErrors!: number;

  @ApiProperty({ type: [String], example: ['Success rate is 85.0% (target: ≥95.0%)'] })
  readonly issues!: readonly string[];

  @ApiProperty({ type: [String], example: ['Investigate recent error patterns'] })
  readonly recommendations!: readonly string[];

  @ApiProperty({ example: checkedAtExample })
  readonly checkedAt!: string;
}

export class StatusCounts {
  @ApiProperty({ example: 10 })
  readonly healthy!: number;

  @ApiProperty({ example: 2 })
  readonly degraded!: number;

  @ApiProperty({ example: 0 })
  readonly unhealthy!: number;

  @ApiProperty({ example: 1 })
  readonly unknown!: number;
}

/** Health of all tools (seed 000's SystemHealthReport). */
export class SystemHealthReport {
  @ApiProperty({
    enum: healthStatuses,
    example: 'degraded',
    description: 'The worst that is known of any tool',
  })
  readonly status!: HealthStatus;

  @ApiProperty({ type: [ToolHealthReport], description: 'Registered and ever executed tools, by name' })
  readonly toolReports!: readonly ToolHealthReport[];

  @ApiProperty({ type: StatusCounts })
  readonly summary!: StatusCounts;

  @ApiProperty({ example: checkedAtExample })
  readonly checkedAt!: string;
}

export class SlowExecutionView {
  @ApiProperty({ example: 'heavy_analysis' })
  readonly toolName!: string;

  @ApiProperty({ example: 8_000 })
  readonly executionTimeMs!: number;

  @ApiProperty({ example: checkedAtExample })
  readonly recordedAt!: string;
}

export class DashboardSummary {
  @ApiProperty({ enum: healthStatuses, example: 'degraded' })
  readonly overallStatus!: HealthStatus;

  @ApiProperty({ type: StatusCounts })
  readonly summary!: StatusCounts;

  @ApiProperty({
    type: [ToolHealthReport],
    description: 'Every tool that is not healthy, unknown ones included',
  })
  readonly toolsNeedingAttention!: readonly ToolHealthReport[];

  @ApiProperty({ type: [SlowExecutionView], description: 'The ten slowest executions of 5 s or more' })
  readonly slowExecutions!: readonly SlowExecutionView[];

  @ApiProperty({ example: checkedAtExample })
  readonly checkedAt!: string;
}

export class ToolHealthSummary {
  @ApiProperty({ enum: healthStatuses, example: 'healthy' })
  readonly status!: HealthStatus;

  @ApiProperty({ example: 0.98 })
  readonly successRate!: number;

  @ApiProperty({
    type: String,
    nullable: true,
    example: checkedAtExample,
    description: 'null: never executed',
  })
  readonly lastUsed!: string | null;

  @ApiProperty({ example: 150.5 })
  readonly avgLatencyMs!: number;

  @ApiProperty({ example: 100 })
  readonly totalCalls!: number;

  @ApiProperty({ example: 2 })
  readonly recentErrors!: number;
}

@ApiExtraModels(ToolHealthSummary)
export class HealthSummary {
  @ApiProperty({ enum: healthStatuses, example: 'healthy' })
  readonly overallStatus!: HealthStatus;

  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(ToolHealthSummary) },
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
  readonly tools!: Readonly<Record<string, ToolHealthSummary>>;

  @ApiProperty({ example: checkedAtExample })
  readonly checkedAt!: string;
}

export class ToolHealthInfo {
  @ApiProperty({ enum: healthStatuses, example: 'healthy' })
  readonly status!: HealthStatus;

  @ApiProperty({ example: 100, description: 'Of the last 24 hours' })
  readonly totalCalls!: number;

  @ApiProperty({ example: 95, description: 'Among the last 100 executions' })
  readonly successfulCalls!: number;

  @ApiProperty({ example: 5, description: 'Among the last 100 executions' })
  readonly failedCalls!: number;

  @ApiProperty({ example: 0.95, description: 'Of the last 24 hours' })
  readonly successRate!: number;

  @ApiProperty({ example: 150.5, description: 'Of the last 24 hours' })
  readonly avgLatencyMs!: number;

  @ApiProperty({ type: String, nullable: true, example: checkedAtExample })
  readonly lastSuccess!: string | null;

  @ApiProperty({ type: String, nullable: true, example: checkedAtExample })
  readonly lastFailure!: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'Search timed out after 5000ms' })
  readonly lastError!: string | null;
}

export class ErrorPatternView {
  @ApiProperty({ example: 'timeout' })
  readonly errorType!: string;

  @ApiProperty({ example: 5 })
  readonly count!: number;
}

export class ErrorPatternsView {
  @ApiProperty({ example: 'log_summary' })
  readonly toolName!: string;

  @ApiProperty({ example: 10 })
  readonly totalErrors!: number;

  @ApiProperty({ type: [ErrorPatternView], description: 'Most frequent first' })
  readonly patterns!: readonly ErrorPatternView[];

  @ApiProperty({
    type: [String],
    example: ['Search timed out after 5000ms'],
    description: 'Of the five newest failures',
  })
  readonly recentMessages!: readonly string[];
}
