import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsArray, IsBoolean, IsInt, IsString, Max, Min } from 'class-validator';
import { Optional } from '../common/optional.decorator.js';
import { NoNulCharacters } from './text.validators.js';

/** What a tool's process may touch (seed 003, SandboxConfig). */
export class SandboxSettings {
  @ApiPropertyOptional({ type: [String], example: ['/var/log'] })
  @Optional()
  @IsArray()
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
  @IsString({ each: true })
  @NoNulCharacters({ each: true })
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

/** What a tool is trusted to do (seed 003, ToolPermissions). */
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

/** Today a tool runs with a clean environment and a deadline; the rest is stored and shown as not enforced. */
const enforced = new Set(['maxExecutionMs', 'allowedEnvironmentVars']);

export interface EffectiveSandbox {
  /** 0: a clean environment, time-outs and output caps only. */
  readonly tier: number;
  /** Fields that the tool's configuration sets and this host does not enforce. */
  readonly notEnforced: string[];
}

export function effectiveSandbox(
  sandbox: SandboxSettings | null | undefined,
  permissions: ToolPermissions | null | undefined,
): EffectiveSandbox {
  const asked = [...Object.keys(sandbox ?? {}), ...Object.keys(permissions ?? {})];
  return { tier: 0, notEnforced: asked.filter((field) => !enforced.has(field)).sort() };
}
