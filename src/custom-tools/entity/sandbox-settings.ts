import { parseHostRule } from '../../outbound/addresses.js';
import { OptionalFlag, OptionalInt, OptionalTextList, Rule } from '../../rest/dto.js';

/** `host`, `host:port`, `*.domain` or an address. */
const HostRules = (): PropertyDecorator =>
  Rule('must hold host names, *.domains or addresses, each with a :port or without', (hosts) =>
    (hosts as string[]).every((host) => parseHostRule(host) !== undefined),
  );

/** What a tool's process may touch. */
export class SandboxSettings {
  @OptionalTextList({
    nullable: true,
    maxItems: 256,
    example: ['/var/log'],
    description: 'Read besides its own directory; relative ones resolve against it',
  })
  readonly allowedPaths?: string[];
  @OptionalFlag({ nullable: true, example: false }) readonly allowNetwork?: boolean;
  @HostRules()
  @OptionalTextList({ nullable: true, maxItems: 256, example: ['api.example.com'] })
  readonly allowedHosts?: string[];
  @OptionalInt(16, undefined, { nullable: true, example: 512 })
  readonly maxMemoryMB?: number;
  @OptionalInt(1, 6400, { nullable: true, example: 50 }) readonly maxCpuPercent?: number;
  @OptionalInt(10, 3_600_000, { nullable: true, example: 10000 }) readonly maxExecutionMs?: number;
}

/** What a tool is trusted to do. */
export class ToolPermissions {
  @OptionalFlag({ nullable: true, example: true }) readonly canReadFiles?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canWriteFiles?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canNetwork?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canExecuteCommands?: boolean;
  @OptionalTextList({ nullable: true, example: ['TZ'] })
  readonly allowedEnvironmentVars?: string[];
}
