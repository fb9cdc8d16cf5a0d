import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Length } from 'class-validator';
import { IsoTime, Limit, OptionalText, QueryNumber, ShortText } from './query.decorators.js';
import { Execution } from './execution.js';

const statuses = ['success', 'error', 'timeout'];
const dayBefore = '2026-01-22T10:30:00Z';
const now = '2026-01-23T10:30:00Z';
const maxMs = 2_147_483_647;

const OptionalTool = (): PropertyDecorator => OptionalText('log_summary', 'Of all tools when absent');

export class ToolParams {
  @ShortText()
  @ApiProperty({ example: 'log_summary', maxLength: 256 })
  readonly tool!: string;
}

export class PeriodQuery {
  @IsoTime(dayBefore, 'Included; 24 hours before `until` when absent')
  readonly since?: Date;

  @IsoTime(now, 'Included; now when absent')
  readonly until?: Date;
}

export class ErrorsQuery {
  @OptionalTool()
  readonly tool?: string;

  @Limit(10)
  readonly limit: number = 10;
}

export class SlowQuery {
  @QueryNumber(0, maxMs, { example: 5_000, default: 5_000, description: 'Milliseconds, included' })
  readonly thresholdMs: number = 5_000;

  @Limit(20)
  readonly limit: number = 20;
}

export class ExecutionsQuery {
  @OptionalTool()
  readonly tool?: string;

  @IsOptional()
  @IsIn(statuses)
  @ApiPropertyOptional({ enum: statuses, example: 'error' })
  readonly status?: string;

  @OptionalText('tool_error', 'Failures of this type')
  readonly errorType?: string;

  @OptionalText('inv-1')
  readonly investigationId?: string;

  @OptionalText('run-1')
  readonly runId?: string;

  @OptionalText('user-123')
  readonly userId?: string;

  @IsoTime(dayBefore, 'Included')
  readonly since?: Date;

  @IsoTime(now, 'Included')
  readonly until?: Date;

  @IsOptional()
  @QueryNumber(0, maxMs, { example: 5_000, description: 'Took at least so many milliseconds' })
  readonly slowMs?: number;

  @Limit(100)
  readonly limit: number = 100;

  @IsOptional()
  @IsString()
  @ApiPropertyOptional({
    example: 'MjAyNi0wMS0yM1QxMDozMDowMC4wMDBafDAxOWE5ZTBjLTVkMGUtN2NjMS1hM2E1LTVhMmI3YzlkMWUyZg',
    description: 'nextCursor of the page before',
  })
  readonly cursor?: string;
}

export class DuplicatesQuery extends PeriodQuery {
  @OptionalTool()
  readonly tool?: string;

  @OptionalText('inv-1', 'Of all investigations, and outside of them, when absent')
  readonly investigationId?: string;

  @Limit(100)
  readonly limit: number = 100;
}

export class SemanticFailureRequest {
  @IsString()
  @Length(1, 500)
  @ApiProperty({ example: 'The answer is empty although the log has errors', maxLength: 500 })
  readonly reason!: string;
}

export class CleanupQuery {
  @QueryNumber(0, 36_500, {
    example: 30,
    default: 30,
    description: 'Days (UTC) that ended so many days ago are deleted; 0: all but today',
  })
  readonly olderThanDays: number = 30;
}

export class StatsPeriodBody {
  @ApiProperty({ example: '2026-01-22T10:30:00.000Z' })
  readonly since!: string;

  @ApiProperty({ example: '2026-01-23T10:30:00.000Z' })
  readonly until!: string;
}

/** Without calls in the period only toolName, totalCalls, successRate, avgTimeMs and period are there. */
export class ToolStatsBody {
  @ApiProperty({ example: 'log_summary' })
  readonly toolName!: string;

  @ApiProperty({ example: 100 })
  readonly totalCalls!: number;

  @ApiPropertyOptional({ example: 95 })
  readonly successCount?: number;

  @ApiPropertyOptional({ example: 3 })
  readonly errorCount?: number;

  @ApiPropertyOptional({ example: 2 })
  readonly timeoutCount?: number;

  @ApiProperty({ example: 0.95, description: '0 to 1' })
  readonly successRate!: number;

  @ApiProperty({ example: 150.5, description: 'Milliseconds, two decimals' })
  readonly avgTimeMs!: number;

  @ApiPropertyOptional({ example: 50 })
  readonly minTimeMs?: number;

  @ApiPropertyOptional({ example: 500 })
  readonly maxTimeMs?: number;

  @ApiPropertyOptional({ example: 10_000 })
  readonly totalInputBytes?: number;

  @ApiPropertyOptional({ example: 50_000 })
  readonly totalOutputBytes?: number;

  @ApiProperty({ type: StatsPeriodBody })
  readonly period!: StatsPeriodBody;

  @ApiPropertyOptional({ example: 120, description: 'Milliseconds; percentiles are at most 2 % off' })
  readonly p50TimeMs?: number;

  @ApiPropertyOptional({ example: 410 })
  readonly p95TimeMs?: number;

  @ApiPropertyOptional({ example: 480 })
  readonly p99TimeMs?: number;

  @ApiPropertyOptional({
    example: 1,
    description: 'Executions that were marked as wrong in what they answered',
  })
  readonly semanticFailureCount?: number;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { tool_error: 3, timeout: 2 },
    description: 'What was no success, by type, most frequent first',
  })
  readonly errorTypes?: Readonly<Record<string, number>>;
}

export class DuplicatesBody {
  @ApiProperty({ example: 'log_summary' })
  readonly toolName!: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'inv-1',
    description: 'null: outside of any investigation',
  })
  readonly investigationId!: string | null;

  @ApiProperty({ example: 10 })
  readonly calls!: number;

  @ApiProperty({ example: 7, description: 'Different inputs' })
  readonly distinctCalls!: number;

  @ApiProperty({ example: 3, description: 'Calls whose input had been there' })
  readonly duplicateCalls!: number;

  @ApiProperty({ example: 0.3, description: '0 to 1' })
  readonly duplicateShare!: number;
}

export class DuplicatesPage {
  @ApiProperty({ type: [DuplicatesBody] })
  readonly data!: DuplicatesBody[];

  @ApiProperty({ type: String, nullable: true, example: null })
  readonly nextCursor!: string | null;
}

export class ExecutionPage {
  @ApiProperty({ type: [Execution] })
  readonly data!: Execution[];

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'MjAyNi0wMS0yM1QxMDozMDowMC4wMDBafDAxOWE5ZTBjLTVkMGUtN2NjMS1hM2E1LTVhMmI3YzlkMWUyZg',
    description: 'Opaque; null on the last page',
  })
  readonly nextCursor!: string | null;
}

export class ToolNamesPage {
  @ApiProperty({ example: ['log_summary', 'text_stats'] })
  readonly data!: string[];

  @ApiProperty({ type: String, nullable: true, example: null })
  readonly nextCursor!: string | null;
}

export class CleanupBody {
  @ApiProperty({ example: 1_234, description: 'Metrics deleted' })
  readonly deleted!: number;
}
