import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsNumber, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import type { NewPlaybook, PlaybookLabels } from './playbook.types.js';
import { Content, Labels, Phrases, PlaybookId, Text, Version } from './playbook.validators.js';

/** A new version of a playbook; files of the sample catalogue have the same fields. */
export class CreatePlaybookBody implements NewPlaybook {
  @PlaybookId()
  @ApiProperty({ example: 'api-latency-shed-load', maxLength: 128 })
  readonly playbook_id!: string;

  @Version()
  @ApiProperty({
    example: '1.0.0',
    description: 'v?MAJOR[.MINOR[.PATCH]][-pre], greater than every stored version',
  })
  readonly version!: string;

  @Text(200)
  @ApiProperty({ example: 'Shed load from a slow API' })
  readonly name!: string;

  @Text(4_000)
  @ApiProperty({
    example: 'Latency of an API grows with its queue. Turns optional work off until it has recovered.',
  })
  readonly description!: string;

  @IsOptional()
  @Text(200)
  @ApiPropertyOptional({ example: 'team-edge' })
  readonly owner?: string;

  @IsOptional()
  @Text(200)
  @ApiPropertyOptional({ example: 'edge-oncall@example.com' })
  readonly maintainer?: string;

  @Content()
  @ApiProperty({
    description: 'The procedure: an object, or text in the format that its executor reads',
    oneOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }],
    example: {
      kind: 'RemediationPlaybook',
      steps: [
        { name: 'shed', action: 'ReconfigureResource', description: 'Set feature.recommendations=off' },
      ],
    },
  })
  readonly content!: unknown;

  @IsOptional()
  @Labels()
  @ApiPropertyOptional({
    description: 'Short key to the value, or values, for which the playbook is meant; * means any',
    type: 'object',
    additionalProperties: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    example: { environment: '*', priority: ['P1', 'P2'] },
  })
  readonly labels?: PlaybookLabels;

  @IsOptional()
  @Phrases()
  @ApiPropertyOptional({
    type: [String],
    description: 'Words that an incident shows',
    example: ['HighRequestLatency'],
  })
  readonly signals?: string[];

  @IsOptional()
  @Phrases()
  @ApiPropertyOptional({
    type: [String],
    description: 'Other words for the same',
    example: ['slow api', 'overload'],
  })
  readonly aliases?: string[];

  @IsOptional()
  @Text(2_000)
  @ApiPropertyOptional({ example: 'The queue grows and optional features are known.' })
  readonly when_to_use?: string;

  @IsOptional()
  @Text(2_000)
  @ApiPropertyOptional({ example: 'A dependency is down.' })
  readonly when_not_to_use?: string;

  @IsOptional()
  @Text(4_000)
  @ApiPropertyOptional({ example: 'Rehearsed on 3 March.', description: 'About this version' })
  readonly version_notes?: string;

  @IsOptional()
  @Text(4_000)
  @ApiPropertyOptional({ example: 'First version.', description: 'What differs from the version before' })
  readonly change_summary?: string;

  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  @ApiPropertyOptional({ example: 0.8, minimum: 0, maximum: 1 })
  readonly expected_success_rate?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(2_147_483_647)
  @ApiPropertyOptional({ example: 300 })
  readonly expected_duration_seconds?: number;
}

export class ListPlaybooksQuery {
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  @ApiPropertyOptional({ example: 50, default: 50, minimum: 1, maximum: 100 })
  readonly limit: number = 50;

  @IsOptional()
  @IsString()
  @MaxLength(512)
  @ApiPropertyOptional({ example: 'Y2x1c3Rlci1kbnMtcmVwYWly', description: 'nextCursor of the page before' })
  readonly cursor?: string;
}

export class PlaybookIdParams {
  @PlaybookId()
  @ApiProperty({ example: 'cluster-dns-repair' })
  readonly id!: string;
}

export class PlaybookVersionParams extends PlaybookIdParams {
  @Version()
  @ApiProperty({ example: '1.4.0' })
  readonly version!: string;
}

/** Two versions of one playbook. */
export class PlaybookDiffParams extends PlaybookIdParams {
  @Version()
  @ApiProperty({ example: '1.3.0' })
  readonly from!: string;

  @Version()
  @ApiProperty({ example: '1.4.0' })
  readonly to!: string;
}

/** Whose showings are asked for. */
export class ShownQuery {
  @Text(256)
  @ApiProperty({ example: 'inv-2026-0117', maxLength: 256 })
  readonly investigationId!: string;
}

export class VersionQuery {
  @IsOptional()
  @Text(256)
  @ApiPropertyOptional({
    example: 'inv-2026-0117',
    maxLength: 256,
    description: 'Also answers whether this investigation was shown the version',
  })
  readonly investigationId?: string;
}

export class VersionsQuery {
  @IsOptional()
  @IsIn(['true', 'false'])
  @ApiPropertyOptional({ enum: ['true', 'false'], default: 'false', example: 'true' })
  readonly include_disabled: 'true' | 'false' = 'false';
}
