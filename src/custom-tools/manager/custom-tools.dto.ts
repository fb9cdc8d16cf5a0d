import { ApiProperty, ApiPropertyOptional, OmitType, PartialType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { Optional } from '../../common/optional.decorator.js';
import { PageQuery } from '../../common/page.dto.js';
import type { JsonSchema } from '../../tool-contract/tool.js';
import { type ToolStatus, toolStatuses } from '../entity/custom-tool.entity.js';
import { SandboxSettings, ToolPermissions } from '../entity/sandbox-settings.js';
import type { EnvChanges } from '../secrets/env-changes.js';
import { ThresholdSettings } from '../entity/threshold-settings.js';
import { IsStringMap, JsonObject, NoNulCharacters } from '../entity/text.validators.js';

/** May an agent repeat it, does it change the world: absent means the careful answer. */
export class AnnotationsInput {
  @ApiPropertyOptional({ example: true }) @Optional() @IsBoolean() readonly readOnly?: boolean;
  @ApiPropertyOptional({ example: true }) @Optional() @IsBoolean() readonly idempotent?: boolean;
  @ApiPropertyOptional({ example: false }) @Optional() @IsBoolean() readonly destructive?: boolean;
  @ApiPropertyOptional({ example: false }) @Optional() @IsBoolean() readonly openWorld?: boolean;
}

/** Registers an executable. */
export class CustomToolCreate {
  @ApiProperty({ example: 'word_count', description: 'Letters, digits, _ and -; begins with a letter' })
  @Matches(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, { message: 'must match ^[A-Za-z][A-Za-z0-9_-]{0,63}$' })
  readonly name!: string;

  @ApiPropertyOptional({ example: 'Counts words', description: "Absent: the executable's own" })
  @Optional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(4096)
  @NoNulCharacters()
  readonly description?: string;

  @ApiPropertyOptional({ example: '1.0.0', description: "Absent: the executable's own, else 1.0.0" })
  @Optional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(64)
  @NoNulCharacters()
  readonly version?: string;

  @ApiProperty({ example: 'python3', description: 'A name on the PATH or a path' })
  @IsString()
  @IsNotEmpty()
  @MaxLength(4096)
  @NoNulCharacters()
  readonly command!: string;

  @ApiPropertyOptional({ type: [String], example: ['tool.py'], default: [] })
  @Optional()
  @IsArray()
  @ArrayMaxSize(256)
  @IsString({ each: true })
  @NoNulCharacters({ each: true })
  readonly args?: string[];

  @ApiPropertyOptional({
    example: './tools/installed/log_summary',
    description: 'Relative args resolve against it',
  })
  @Optional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(4096)
  @NoNulCharacters()
  readonly workingDir?: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { TZ: 'UTC' },
    description: 'Values are write-only: answers show the names',
  })
  @Optional()
  @IsStringMap()
  readonly env?: Record<string, string>;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    description: "JSON Schema 2020-12; absent: the executable's own",
  })
  @Optional()
  @JsonObject()
  readonly inputSchema?: JsonSchema;

  @ApiPropertyOptional({ example: 10000, description: 'Absent: CUSTOM_TOOLS_DEFAULT_TIMEOUT' })
  @Optional()
  @IsInt()
  @Min(10)
  @Max(3_600_000)
  readonly timeoutMs?: number;

  @ApiPropertyOptional({ default: 0, example: 1 })
  @Optional()
  @IsInt()
  @Min(0)
  @Max(10)
  readonly maxRetries?: number;
  @ApiPropertyOptional({ default: 1000, example: 200 })
  @Optional()
  @IsInt()
  @Min(0)
  @Max(60_000)
  readonly retryDelayMs?: number;

  @ApiPropertyOptional({ default: 1, example: 2, description: 'At most CUSTOM_TOOLS_MAX_POOL_SIZE' })
  @Optional()
  @IsInt()
  @Min(1)
  @Max(1_000)
  readonly poolSize?: number;

  @ApiPropertyOptional({ default: 0, example: 1, description: 'Processes kept warm; needs keepAlive' })
  @Optional()
  @IsInt()
  @Min(0)
  @Max(1_000)
  readonly minProcesses?: number;

  @ApiPropertyOptional({ default: 1, example: 1, description: 'Requests that one process serves at a time' })
  @Optional()
  @IsInt()
  @Min(1)
  @Max(1_000)
  readonly maxConcurrency?: number;

  @ApiPropertyOptional({
    default: false,
    example: true,
    description: 'false: a fresh process for every call',
  })
  @Optional()
  @IsBoolean()
  readonly keepAlive?: boolean;

  @ApiPropertyOptional({ type: AnnotationsInput })
  @Optional()
  @IsObject()
  @ValidateNested()
  @Type(() => AnnotationsInput)
  readonly annotations?: AnnotationsInput;

  @ApiPropertyOptional({ type: ThresholdSettings, description: 'A change replaces them as a whole' })
  @Optional()
  @IsObject()
  @ValidateNested()
  @Type(() => ThresholdSettings)
  readonly thresholds?: ThresholdSettings;

  @ApiPropertyOptional({ type: SandboxSettings })
  @Optional()
  @IsObject()
  @ValidateNested()
  @Type(() => SandboxSettings)
  readonly sandbox?: SandboxSettings;

  @ApiPropertyOptional({ type: ToolPermissions })
  @Optional()
  @IsObject()
  @ValidateNested()
  @Type(() => ToolPermissions)
  readonly permissions?: ToolPermissions;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { note: 'Go on without it' },
    description: 'What an LLM should read when the tool fails or is refused',
  })
  @Optional()
  @JsonObject()
  readonly fallback?: Record<string, unknown>;

  @ApiPropertyOptional({ example: 20, description: '0: no limit; absent: INVESTIGATION_CALLS_PER_TOOL' })
  @Optional()
  @IsInt()
  @Min(0)
  @Max(1_000_000)
  readonly callsPerInvestigation?: number;

  @ApiPropertyOptional({
    default: 0,
    example: 60_000,
    description: 'How long a result answers equal calls, milliseconds; needs annotations.readOnly. 0: never',
  })
  @Optional()
  @IsInt()
  @Min(0)
  @Max(2_147_483_647)
  readonly cacheTtlMs?: number;

  @ApiPropertyOptional({ type: [String], example: ['text'] })
  @Optional()
  @IsArray()
  @ArrayMaxSize(64)
  @IsString({ each: true })
  @NoNulCharacters({ each: true })
  readonly tags?: string[];

  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: { team: 'platform' } })
  @Optional()
  @JsonObject()
  readonly metadata?: Record<string, unknown>;
}

/** Changes a tool; its name stays. */
export class CustomToolUpdate extends PartialType(OmitType(CustomToolCreate, ['name', 'env'] as const), {
  skipNullProperties: false,
}) {
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string', nullable: true },
    example: { TZ: 'Europe/Berlin', OLD_TOKEN: null },
    description: 'Text sets a variable, null removes it; variables that are not named keep their values',
  })
  @Optional()
  @IsStringMap({ removable: true })
  readonly env?: EnvChanges;
}

export class ListCustomToolsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: toolStatuses })
  @Optional()
  @IsIn(toolStatuses)
  readonly status?: ToolStatus;
}
