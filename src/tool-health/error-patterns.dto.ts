import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, Max, Min } from 'class-validator';

const seenExample = '2026-01-23T10:30:00.000Z';

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

export class ErrorPatternView {
  @ApiProperty({ example: 'timeout' })
  readonly errorType!: string;

  @ApiProperty({ example: 5 })
  readonly count!: number;
}

/** Failures of one type that say the same, but for numbers, ids, paths, addresses and quotations. */
export class MessagePatternView {
  @ApiProperty({ example: 'timeout' })
  readonly errorType!: string;

  @ApiProperty({ example: 'Search timed out after <n>ms', description: 'Empty: they say nothing' })
  readonly message!: string;

  @ApiProperty({ example: 4 })
  readonly count!: number;

  @ApiProperty({ example: seenExample, description: 'Among the failures that were read' })
  readonly firstSeen!: string;

  @ApiProperty({ example: seenExample })
  readonly lastSeen!: string;

  @ApiProperty({ example: 'Search timed out after 5000ms', description: 'The newest of them' })
  readonly example!: string;
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

  @ApiProperty({ type: [MessagePatternView], description: 'The same failures by what they say' })
  readonly messages!: readonly MessagePatternView[];
}
