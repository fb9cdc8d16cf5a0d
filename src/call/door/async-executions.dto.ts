import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { OptionalInt, Text } from '../../web/rest/dto.js';
import { ProblemView } from '../../web/rest/api-problems.decorator.js';
import { OutcomeView } from './tools.dto.js';

const maxWaitMs = 30_000;

export class AsyncExecutionParams {
  @Text(64, { example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f' }) readonly id!: string;
}

export class WaitQuery {
  @OptionalInt(0, maxWaitMs, {
    example: 30_000,
    description: 'Milliseconds to wait for the end; 0: answer at once',
  })
  readonly waitMs?: number;
}

const statuses = ['queued', 'running', 'ended', 'refused', 'cancelled'] as const;

export class AsyncExecutionView {
  @ApiProperty({ example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f' }) readonly id!: string;
  @ApiProperty({ example: 'log_summary' }) readonly tool!: string;
  @ApiProperty({
    enum: statuses,
    example: 'ended',
    description: '`ended`: the tool ran, `outcome` says how. `refused`: it was not run, `problem` says why.',
  })
  readonly status!: (typeof statuses)[number];
  @ApiProperty({ format: 'date-time', example: '2026-01-23T10:30:00.000Z' }) readonly submittedAt!: string;
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: '2026-01-23T10:30:00.010Z' })
  readonly startedAt!: string | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: '2026-01-23T10:30:04.120Z' })
  readonly endedAt!: string | null;
  @ApiPropertyOptional({ type: OutcomeView }) readonly outcome?: object;
  @ApiPropertyOptional({ type: ProblemView }) readonly problem?: object;
}
