import { ApiProperty, ApiPropertyOptional, IntersectionType } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { errorTable } from '../common/errors.js';
import { PageQuery } from '../common/page.dto.js';
import { type ToolFormat, toolFormatNames } from './tool-formats.js';

export class FormatQuery {
  @ApiPropertyOptional({ enum: toolFormatNames, description: 'How the agent platform wants tools described' })
  @IsOptional()
  @IsIn(toolFormatNames)
  readonly format?: ToolFormat;
}

export class ListToolsQuery extends IntersectionType(PageQuery, FormatQuery) {
  @ApiPropertyOptional({ description: 'Words in name, description or tags', example: 'log' })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  readonly query?: string;
}

export class AnnotationsBody {
  @ApiProperty({ example: true }) readonly readOnly!: boolean;
  @ApiProperty({ example: true }) readonly idempotent!: boolean;
  @ApiProperty({ example: false }) readonly destructive!: boolean;
  @ApiProperty({ example: false }) readonly openWorld!: boolean;
}

export class ToolBody {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @ApiProperty({ enum: ['builtin', 'custom'], example: 'builtin' }) readonly kind!: string;
  @ApiProperty({ example: '1.0.0' }) readonly version!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  })
  readonly inputSchema!: object;
  @ApiProperty() readonly annotations!: AnnotationsBody;
  @ApiProperty({ type: [String], example: ['incidents'] }) readonly tags!: string[];
  @ApiProperty({ example: 30000, description: 'Limit of one call, milliseconds' })
  readonly timeoutMs!: number;
  @ApiPropertyOptional({ description: 'What an LLM should read when the tool fails' })
  readonly fallback?: unknown;
}

export class ToolErrorView {
  @ApiProperty({ example: -32001 }) readonly code!: number;
  @ApiProperty({
    enum: Object.entries(errorTable).flatMap(([code, { http }]) => (http === 200 ? [code] : [])),
    example: 'tool_error',
  })
  readonly type!: string;
  @ApiProperty({ example: 'No such file' }) readonly message!: string;
  @ApiPropertyOptional({ description: "The tool's own details" }) readonly data?: unknown;
}

export class OutcomeBody {
  @ApiProperty({ example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f' }) readonly executionId!: string;
  @ApiProperty({ example: 'get_playbooks' }) readonly tool!: string;
  @ApiProperty({ enum: ['success', 'error', 'timeout'], example: 'success' }) readonly status!: string;
  @ApiPropertyOptional({
    description: "The tool's result, any JSON value; of a failed execution the tool's fallback",
    example: { playbooks: [], total_results: 0 },
  })
  readonly result?: unknown;
  @ApiPropertyOptional({ type: ToolErrorView }) readonly error?: ToolErrorView;
  @ApiProperty({ example: 12, description: 'Queue wait and process start included' })
  readonly executionTimeMs!: number;
  @ApiProperty({ example: 1 }) readonly attempts!: number;
  @ApiProperty({ example: false }) readonly cached!: boolean;
}
