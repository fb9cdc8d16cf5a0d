import { parseHostRule } from '../../../base/outbound/addresses.js';
import type { ToolThresholds } from '../../../web/contract/tool.js';
import { OptionalFlag, OptionalInt, OptionalNum, OptionalTextList, Rule } from '../../../web/rest/dto.js';

const maxMs = 3_600_000;
const usual = (value: number, description: string) => ({
  nullable: true,
  example: value,
  default: value,
  description,
});
const rate = { minimum: 0, maximum: 1 };

/** The limits by which a tool's health is judged; a limit that is left out is the default one. */
export class ThresholdSettings implements Partial<ToolThresholds> {
  @OptionalNum({ ...rate, ...usual(0.95, 'Healthy from this success rate on') })
  readonly successRateHealthy?: number;
  @OptionalNum({ ...rate, ...usual(0.8, 'Degraded from here on, unhealthy below') })
  readonly successRateDegraded?: number;
  @OptionalInt(1, maxMs, usual(2000, 'Healthy up to this mean latency'))
  readonly latencyHealthyMs?: number;
  @OptionalInt(1, maxMs, usual(5000, 'Degraded up to here, unhealthy beyond'))
  readonly latencyDegradedMs?: number;
  @OptionalInt(1, 1_000_000, usual(5, 'Fewer calls than this are not graded'))
  readonly minCalls?: number;
  @OptionalInt(
    1,
    10_000,
    usual(5, 'Errors that advise a break; of its circuit, the tool faults (absent: CIRCUIT_FAILURES)'),
  )
  readonly errorThreshold?: number;
  @OptionalInt(1, 1_440, usual(5, 'In which they are counted; also by its circuit (absent: five minutes)'))
  readonly windowMinutes?: number;
  @OptionalInt(1, maxMs, usual(5000, 'A call is slow from here on'))
  readonly slowCallMs?: number;
}

/** `host`, `host:port`, `*.domain` or an address. */
const HostRules = (): PropertyDecorator =>
  Rule('must hold host names, *.domains or addresses, each with a :port or without', (hosts) =>
    (hosts as string[]).every((host) => parseHostRule(host) !== undefined),
  );

/** Files, hosts and resources that a tool's process may use. */
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

/** Acts that a tool is trusted with. */
export class ToolPermissions {
  @OptionalFlag({ nullable: true, example: true }) readonly canReadFiles?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canWriteFiles?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canNetwork?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canExecuteCommands?: boolean;
  @OptionalTextList({ nullable: true, example: ['TZ'] })
  readonly allowedEnvironmentVars?: string[];
}

/** May an agent repeat it, does it change the world: absent means the careful answer. */
export class AnnotationsBody {
  @OptionalFlag({ example: true }) readonly readOnly?: boolean;
  @OptionalFlag({ example: true }) readonly idempotent?: boolean;
  @OptionalFlag({ example: false }) readonly destructive?: boolean;
  @OptionalFlag({ example: false }) readonly openWorld?: boolean;
}
