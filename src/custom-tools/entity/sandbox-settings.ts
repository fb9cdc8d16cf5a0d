import { ApiPropertyOptional } from '@nestjs/swagger';
import { parseHostRule } from '../../common/addresses.js';
import { OptionalInt, Rule } from '../../common/shapes.js';

/** `host`, `host:port`, `*.domain` or an address. */
const HostRules = (): PropertyDecorator =>
  Rule(
    'must hold host names, *.domains or addresses, each with a :port or without',
    (hosts) => Array.isArray(hosts) && hosts.every((host) => parseHostRule(String(host)) !== undefined),
  );

/** What a tool's process may touch. */
export class SandboxSettings {
  @ApiPropertyOptional({
    nullable: true,
    maxItems: 256,
    type: [String],
    example: ['/var/log'],
    description: 'Read besides its own directory; relative ones resolve against it',
  })
  readonly allowedPaths?: string[];
  @ApiPropertyOptional({ nullable: true, example: false }) readonly allowNetwork?: boolean;
  @HostRules()
  @ApiPropertyOptional({ nullable: true, maxItems: 256, type: [String], example: ['api.example.com'] })
  readonly allowedHosts?: string[];
  @ApiPropertyOptional({ nullable: true, type: 'integer', minimum: 16, example: 512 })
  readonly maxMemoryMB?: number;
  @OptionalInt(1, 6400, { nullable: true, example: 50 }) readonly maxCpuPercent?: number;
  @OptionalInt(10, 3_600_000, { nullable: true, example: 10000 }) readonly maxExecutionMs?: number;
}

/** What a tool is trusted to do. */
export class ToolPermissions {
  @ApiPropertyOptional({ nullable: true, example: true }) readonly canReadFiles?: boolean;
  @ApiPropertyOptional({ nullable: true, example: false }) readonly canWriteFiles?: boolean;
  @ApiPropertyOptional({ nullable: true, example: false }) readonly canNetwork?: boolean;
  @ApiPropertyOptional({ nullable: true, example: false }) readonly canExecuteCommands?: boolean;
  @ApiPropertyOptional({ nullable: true, type: [String], example: ['TZ'] })
  readonly allowedEnvironmentVars?: string[];
}
