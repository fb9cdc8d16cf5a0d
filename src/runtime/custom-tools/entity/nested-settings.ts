import { isObject } from '../../../base/common/json.js';
import { parseHostRule } from '../../../base/outbound/addresses.js';
import type { ToolThresholds } from '../../../web/contract/tool.js';
import {
  OptionalFlag,
  OptionalInt,
  OptionalMap,
  OptionalNum,
  OptionalTextList,
  Rule,
} from '../../../web/rest/dto.js';

const maxMs = 3_600_000;
/** A threshold that may be null, which resets it. @param value its default */
const threshold = (value: number, description: string) => ({
  nullable: true,
  example: value,
  default: value,
  description,
});
const rate = { minimum: 0, maximum: 1 };

/** Thresholds of a tool's health; omitted ones have their defaults. */
export class ThresholdSettings implements Partial<ToolThresholds> {
  @OptionalNum({ ...rate, ...threshold(0.95, 'Min success rate of a healthy tool') })
  readonly successRateHealthy?: number;
  @OptionalNum({ ...rate, ...threshold(0.8, 'Min success rate of a degraded tool; below it is unhealthy') })
  readonly successRateDegraded?: number;
  @OptionalInt(1, maxMs, threshold(2000, 'Max mean latency of a healthy tool'))
  readonly latencyHealthyMs?: number;
  @OptionalInt(1, maxMs, threshold(5000, 'Max mean latency of a degraded tool; above it is unhealthy'))
  readonly latencyDegradedMs?: number;
  @OptionalInt(1, 1_000_000, threshold(5, 'Min calls for a grade'))
  readonly minCalls?: number;
  @OptionalInt(
    1,
    10_000,
    threshold(
      5,
      'Errors for the advice to break, and tool faults that open its circuit (absent: CIRCUIT_FAILURES)',
    ),
  )
  readonly errorThreshold?: number;
  @OptionalInt(
    1,
    1_440,
    threshold(5, 'Window in which errorThreshold counts, also for its circuit (absent: five minutes)'),
  )
  readonly windowMinutes?: number;
  @OptionalInt(1, maxMs, threshold(5000, 'Duration from which a call is slow'))
  readonly slowCallMs?: number;
}

/** Checks that all entries are `host`, `host:port`, `*.domain` or an address. */
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
    description: 'Paths that it may read besides its own directory; relative ones resolve against it',
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

export class ToolPermissions {
  @OptionalFlag({ nullable: true, example: true }) readonly canReadFiles?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canWriteFiles?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canNetwork?: boolean;
  @OptionalFlag({ nullable: true, example: false }) readonly canExecuteCommands?: boolean;
  @OptionalTextList({ nullable: true, example: ['TZ'] })
  readonly allowedEnvironmentVars?: string[];
}

/** Hints about the effects of a call; an absent hint means the worst case. */
export class AnnotationsBody {
  @OptionalFlag({ example: true }) readonly readOnly?: boolean;
  @OptionalFlag({ example: true }) readonly idempotent?: boolean;
  @OptionalFlag({ example: false }) readonly destructive?: boolean;
  @OptionalFlag({ example: false }) readonly openWorld?: boolean;
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Checks that all names of `env` are valid shell variables. */
export const VariableNames = (): PropertyDecorator =>
  Rule('must name its variables with letters, digits and _', (env) =>
    Object.keys(env as object).every((name) => variableName.test(name)),
  );

/** The JSON Schema of a variable in `env`. @param text additional keywords of its text */
export const variableSchema = (text: object) => ({
  oneOf: [
    { type: 'string', ...text },
    {
      type: 'object',
      properties: { value: { type: 'string' }, secret: { type: 'boolean' } },
      required: ['value'],
      additionalProperties: false,
    },
  ],
});

interface VariablesSchema {
  /** Whether a variable may be null, which removes it. */
  readonly nullable?: boolean;
  readonly example: object;
  readonly description: string;
}

/** `env`: a map of variables, each a text or `{value, secret}`. */
export const Variables = ({ nullable = false, ...schema }: VariablesSchema): PropertyDecorator =>
  OptionalMap({ additionalProperties: variableSchema(nullable ? { nullable } : {}), ...schema }, [
    'must be text, or text as {"value": "…", "secret": false}',
    (given) => {
      if (!isObject(given)) return typeof given === 'string' || (nullable && given === null);
      const { value, secret = true, ...others } = given;
      return typeof value === 'string' && typeof secret === 'boolean' && Object.keys(others).length === 0;
    },
  ]);
