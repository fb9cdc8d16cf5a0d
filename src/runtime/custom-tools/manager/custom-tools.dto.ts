import { ApiProperty, OmitType, PartialType } from '@nestjs/swagger';
import {
  AnyObject,
  AnyText,
  NullableMoment,
  NullableText,
  OptionalFlag,
  OptionalInt,
  OptionalMap,
  OptionalNested,
  OptionalOneOf,
  OptionalText,
  OptionalTextList,
  PageQuery,
  Rule,
} from '../../../web/rest/dto.js';
import { semanticErrorModes, type SemanticErrors } from '../../../web/contract/tool.js';
import type { JsonSchema } from '../../../base/schemas/json-schema.js';
import {
  type CaptureSetting,
  captureSettings,
  type Isolation,
  isolations,
  type ToolProtocol,
  toolProtocols,
  type ToolStatus,
  toolStatuses,
  healthStatuses,
} from '../entity/custom-tool.entity.js';
import { SandboxSettings, ToolPermissions, ThresholdSettings } from '../entity/tool-settings.js';
import type { EnvChanges } from '../../secrets/env-cipher.js';

const maxMetadataBytes = 16_384;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Names as a shell takes them. */
const VariableNames = (): PropertyDecorator =>
  Rule('must name its variables with letters, digits and _', (env) =>
    Object.keys(env as object).every((name) => variableName.test(name)),
  );

/** May an agent repeat it, does it change the world: absent means the careful answer. */
export class AnnotationsBody {
  @OptionalFlag({ example: true }) readonly readOnly?: boolean;
  @OptionalFlag({ example: true }) readonly idempotent?: boolean;
  @OptionalFlag({ example: false }) readonly destructive?: boolean;
  @OptionalFlag({ example: false }) readonly openWorld?: boolean;
}

/** Registers an executable. */
export class CustomToolCreate {
  @AnyText({
    pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$',
    example: 'word_count',
    description: 'Letters, digits, _ and -; begins with a letter',
  })
  readonly name!: string;
  @OptionalOneOf(toolProtocols, {
    default: 'jsonrpc',
    example: 'jsonrpc',
    description: '`mcp`: an MCP server, whose tools appear as `<name>__<tool>`; it stays as it is',
  })
  readonly protocol?: ToolProtocol;
  @OptionalText(4096, { example: 'Counts words', description: "Absent: the executable's own" })
  readonly description?: string;
  @OptionalText(64, { example: '1.0.0', description: "Absent: the executable's own, else 1.0.0" })
  readonly version?: string;
  @OptionalText(4096, {
    example: 'python3',
    description: 'A name on the PATH or a path; needed without `url`',
  })
  readonly command?: string;
  @OptionalText(4096, {
    nullable: true,
    example: null,
    description:
      'In place of `command`: where an MCP server listens (Streamable HTTP). It runs without a sandbox of ours',
  })
  readonly url?: string | null;
  @OptionalMap({
    additionalProperties: { type: 'string', maxLength: 4096 },
    nullable: true,
    example: null,
    description:
      'Sent with each request to `url`, such as {"Authorization": "Bearer ${TOKEN}"} with TOKEN in `env`',
  })
  readonly headers?: Record<string, string> | null;
  @OptionalTextList({ maxItems: 256, example: ['tool.py'], default: [] })
  readonly args?: string[];
  @OptionalText(4096, {
    nullable: true,
    example: './tools/installed/log_summary',
    description: 'Relative args resolve against it',
  })
  readonly workingDir?: string | null;
  @VariableNames()
  @OptionalMap({
    additionalProperties: { type: 'string' },
    example: { TZ: 'UTC' },
    description: 'Values are write-only: answers show the names',
  })
  readonly env?: Record<string, string>;
  @AnyObject({
    required: false,
    example: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    description: "JSON Schema 2020-12; absent: the executable's own",
  })
  readonly inputSchema?: JsonSchema;
  @OptionalInt(10, 3_600_000, { example: 10000, description: 'Absent: CUSTOM_TOOLS_DEFAULT_TIMEOUT' })
  readonly timeoutMs?: number;
  @OptionalInt(0, 10, { default: 0, example: 1 }) readonly maxRetries?: number;
  @OptionalInt(0, 60_000, { default: 1000, example: 200 }) readonly retryDelayMs?: number;
  @OptionalInt(1, 1_000, { default: 1, example: 2, description: 'At most CUSTOM_TOOLS_MAX_POOL_SIZE' })
  readonly poolSize?: number;
  @OptionalInt(0, 1_000, { default: 0, example: 1, description: 'Processes kept warm; needs keepAlive' })
  readonly minProcesses?: number;
  @OptionalInt(1, 1_000, {
    default: 1,
    example: 1,
    description: 'Requests that one process serves at a time',
  })
  readonly maxConcurrency?: number;
  @OptionalFlag({
    default: false,
    example: true,
    description: 'false: a fresh process for every call',
  })
  readonly keepAlive?: boolean;
  @OptionalOneOf(isolations, {
    example: 'project',
    description:
      'Which callers share a process that stays: those of a project, or all (shared). Absent: project for `protocol: "mcp"`, else shared',
  })
  readonly isolation?: Isolation;
  @OptionalNested(AnnotationsBody) readonly annotations?: AnnotationsBody;
  @OptionalNested(ThresholdSettings, {
    nullable: true,
    description: 'By which its health is judged',
  })
  readonly thresholds?: ThresholdSettings | null;
  @OptionalNested(SandboxSettings, { nullable: true }) readonly sandbox?: SandboxSettings | null;
  @OptionalNested(ToolPermissions, { nullable: true })
  readonly permissions?: ToolPermissions | null;
  @AnyObject({
    required: false,
    nullable: true,
    example: { note: 'Go on without it' },
    description: 'What an LLM should read when the tool fails or is refused',
  })
  readonly fallback?: Record<string, unknown> | null;
  @OptionalInt(0, 1_000_000, {
    nullable: true,
    example: 20,
    description: '0: no limit; absent: INVESTIGATION_CALLS_PER_TOOL',
  })
  readonly callsPerInvestigation?: number | null;
  @OptionalInt(0, 2_147_483_647, {
    nullable: true,
    default: 0,
    example: 60_000,
    description: 'How long a result answers equal calls, milliseconds; needs annotations.readOnly. 0: never',
  })
  readonly cacheTtlMs?: number | null;
  @OptionalOneOf(semanticErrorModes, {
    default: 'show',
    example: 'mark',
    description:
      'A successful result that tells of an error: nothing is done (off), the finding stands on the execution (show), ' +
      'or what is itself the report of a failure is marked as a semantic failure besides (mark)',
  })
  readonly semanticErrors?: SemanticErrors;
  @OptionalOneOf(captureSettings, {
    default: 'none',
    example: 'failures',
    description:
      'Of which executions input and answer are kept, to be looked at and replayed; without the values of `env`, for CAPTURE_TTL_HOURS',
  })
  readonly capture?: CaptureSetting;
  @OptionalTextList({ maxItems: 64, example: ['text'] }) readonly tags?: string[];
  @Rule(
    `must have at most ${maxMetadataBytes} bytes as JSON`,
    (value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes,
  )
  @AnyObject({
    required: false,
    example: { team: 'platform' },
    description: 'At most 16 KiB; lists leave it out',
  })
  readonly metadata?: Record<string, unknown>;
}

/**
 * Changes a tool; its name stays. What is left out stays as it is, also within annotations, env, sandbox, permissions
 * and thresholds; null takes a value back to its default.
 */
export class CustomToolUpdate extends PartialType(
  OmitType(CustomToolCreate, ['name', 'env', 'protocol', 'command'] as const),
  {
    skipNullProperties: false,
  },
) {
  @AnyText({
    required: false,
    maxLength: 4096,
    example: 'python3',
    description: 'Empty where there is a `url`',
  })
  readonly command?: string;
  @VariableNames()
  @OptionalMap({
    additionalProperties: { type: 'string', nullable: true },
    example: { TZ: 'Europe/Berlin', OLD_TOKEN: null },
    description: 'Text sets a variable, null removes it; variables that are not named keep their values',
  })
  readonly env?: EnvChanges;
}

export class ListCustomToolsQuery extends PageQuery {
  @OptionalOneOf(toolStatuses) readonly status?: ToolStatus;
}

export class ProcessesView {
  @ApiProperty({ example: 0 }) readonly starting!: number;
  @ApiProperty({ example: 1 }) readonly idle!: number;
  @ApiProperty({ example: 0 }) readonly busy!: number;
  @ApiProperty({ example: 0 }) readonly waiting!: number;
}

export class CustomToolHealthView {
  @ApiProperty({ example: 'log_summary' }) readonly name!: string;
  @ApiProperty({ enum: toolStatuses, example: 'active' }) readonly status!: string;
  @ApiProperty({ enum: healthStatuses, example: 'healthy' }) readonly healthStatus!: string;
  @NullableMoment('2026-01-23T10:30:00.000Z') readonly lastHealthCheck!: Date | null;
  @NullableText(null) readonly errorMessage!: string | null;
  @ApiProperty({ type: ProcessesView }) readonly processes!: ProcessesView;
}
