import { ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsBoolean, IsInt, IsString, Max, Min, ValidateBy } from 'class-validator';
import { Optional } from '../../common/optional.decorator.js';
import { parseHostRule } from '../../sandbox/host-rules.js';
import { NoNulCharacters } from './text.validators.js';

/** `host`, `host:port`, `*.domain` or an address. */
function IsHostRule(): PropertyDecorator {
  const validate = (value: unknown): boolean =>
    typeof value === 'string' && parseHostRule(value) !== undefined;
  const defaultMessage = (): string =>
    'must hold host names, *.domains or addresses, each with a :port or without';
  return ValidateBy({ name: 'isHostRule', validator: { validate, defaultMessage } }, { each: true });
}

/** What a tool's process may touch. */
export class SandboxSettings {
  @ApiPropertyOptional({
    type: [String],
    example: ['/var/log'],
    description: 'Read besides its own directory; relative ones resolve against it',
  })
  @Optional()
  @IsArray()
  @ArrayMaxSize(256)
  @IsString({ each: true })
  @NoNulCharacters({ each: true })
  readonly allowedPaths?: string[];

  @ApiPropertyOptional({ example: false })
  @Optional()
  @IsBoolean()
  readonly allowNetwork?: boolean;

  @ApiPropertyOptional({ type: [String], example: ['api.example.com'] })
  @Optional()
  @IsArray()
  @ArrayMaxSize(256)
  @IsHostRule()
  readonly allowedHosts?: string[];

  @ApiPropertyOptional({ example: 512 })
  @Optional()
  @IsInt()
  @Min(16)
  readonly maxMemoryMB?: number;

  @ApiPropertyOptional({ example: 50 })
  @Optional()
  @IsInt()
  @Min(1)
  @Max(6400)
  readonly maxCpuPercent?: number;

  @ApiPropertyOptional({ example: 10000 })
  @Optional()
  @IsInt()
  @Min(10)
  @Max(3_600_000)
  readonly maxExecutionMs?: number;
}

/** What a tool is trusted to do. */
export class ToolPermissions {
  @ApiPropertyOptional({ example: true })
  @Optional()
  @IsBoolean()
  readonly canReadFiles?: boolean;

  @ApiPropertyOptional({ example: false })
  @Optional()
  @IsBoolean()
  readonly canWriteFiles?: boolean;

  @ApiPropertyOptional({ example: false })
  @Optional()
  @IsBoolean()
  readonly canNetwork?: boolean;

  @ApiPropertyOptional({ example: false })
  @Optional()
  @IsBoolean()
  readonly canExecuteCommands?: boolean;

  @ApiPropertyOptional({ type: [String], example: ['TZ'] })
  @Optional()
  @IsArray()
  @IsString({ each: true })
  @NoNulCharacters({ each: true })
  readonly allowedEnvironmentVars?: string[];
}
