import {
  ApiProperty,
  ApiPropertyOptional,
  IntersectionType,
  OmitType,
  PartialType,
  PickType,
} from '@nestjs/swagger';
import type { JsonSchema } from '../../../base/schemas/json-schema.js';
import { AnnotationsView } from '../../../call/door/tools.dto.js';
import { semanticErrorModes, type SemanticErrors } from '../../../web/contract/tool.js';
import {
  AnyObject,
  AnyText,
  NullableNumber,
  NullableText,
  OptionalFlag,
  OptionalInt,
  OptionalMap,
  OptionalNested,
  OptionalOneOf,
  OptionalText,
  OptionalTextList,
  Rule,
} from '../../../web/rest/dto.js';
import type { McpDefinition } from '../../mcp-client/mcp-review.js';
import { type EnvChanges, type GivenValue, hiddenValue } from '../../secrets/env-cipher.js';
import {
  AnnotationsBody,
  SandboxSettings,
  ThresholdSettings,
  ToolPermissions,
  VariableNames,
  Variables,
  variableSchema,
} from './nested-settings.js';
import { initialOf, Setting } from './setting-facets.js';

/** Protocols of the processes: docs/tools/protocol.md for a single tool, or MCP for a server with several tools. */
const toolProtocols = ['jsonrpc', 'mcp'] as const;
/** Executions whose input and answer are stored. */
const captureSettings = ['none', 'failures', 'all'] as const;
/** Which calls share processes: those of one caller in a project, of a project, or all. */
const isolations = ['user', 'project', 'shared'] as const;
/** Accounts with which the tool calls other services: none, one of this server, or one of each caller. */
const credentialKinds = ['none', 'shared', 'user'] as const;
const maxMetadataBytes = 16_384;

/** MCP's defaults, which assume the worst. */
const defaultAnnotations = { readOnly: false, idempotent: false, destructive: true, openWorld: true };

/**
 * The settings of a custom tool. Each declares its column, its default, its rules in a request and its schema in answers.
 * Durations in milliseconds.
 */
export class ToolSettings {
  @Setting('text', ApiProperty({ example: 'log_summary' }), '')
  @AnyText({
    pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$',
    example: 'word_count',
    description: 'Letters, digits, _ and -; begins with a letter',
  })
  name!: string;
  @Setting('text', ApiProperty({ enum: toolProtocols, example: 'jsonrpc' }))
  @OptionalOneOf(toolProtocols, {
    default: 'jsonrpc',
    example: 'jsonrpc',
    description: '`mcp`: an MCP server, whose tools appear as `<name>__<tool>`. It cannot be changed later',
  })
  protocol!: (typeof toolProtocols)[number];
  @Setting('text', ApiProperty({ example: 'Summarises log lines' }), '')
  @OptionalText(4096, { example: 'Counts words', description: "Absent: the executable's own" })
  description!: string;
  @Setting('text', ApiProperty({ example: '1.0.0' }), '1.0.0')
  @OptionalText(64, { example: '1.0.0', description: "Absent: the executable's own, else 1.0.0" })
  version!: string;
  @Setting('text', ApiProperty({ example: 'python3', description: 'Empty if there is a `url`' }), '')
  @OptionalText(4096, {
    example: 'python3',
    description: 'A name on the PATH or a path; required without `url`',
  })
  command!: string;
  @Setting('text', NullableText(null), null)
  @OptionalText(4096, {
    nullable: true,
    example: null,
    description:
      'URL of an MCP server (Streamable HTTP), in place of `command`. The server runs outside of the sandbox',
  })
  url!: string | null;
  @Setting(
    'jsonb',
    ApiProperty({
      type: 'object',
      nullable: true,
      additionalProperties: { type: 'string' },
      example: null,
      description: 'As registered, with the names of variables',
    }),
    null,
  )
  @OptionalMap({
    additionalProperties: { type: 'string', maxLength: 4096 },
    nullable: true,
    example: null,
    description:
      'Sent with each request to `url`, such as {"Authorization": "Bearer ${TOKEN}"} with TOKEN in `env`',
  })
  headers!: Record<string, string> | null;
  @Setting('text', ApiProperty({ enum: credentialKinds, example: 'none' }))
  @OptionalOneOf(credentialKinds, {
    default: 'none',
    example: 'none',
    description: 'OAuth: none, as this server (shared, with `url`), or as each caller (user)',
  })
  credentials!: (typeof credentialKinds)[number];
  @Setting('jsonb', ApiProperty({ type: [String], example: ['tool.py'] }))
  @OptionalTextList({ maxItems: 256, example: ['tool.py'], default: [] })
  args!: string[];
  @Setting('text', NullableText(null), null)
  @OptionalText(4096, {
    nullable: true,
    example: './tools/installed/log_summary',
    description: 'Relative args resolve against it',
  })
  workingDir!: string | null;
  @Setting('text', NullableText(null, 'Prefix of the names of its prompts; null: `<name>__`'), null)
  @OptionalOneOf([''], {
    nullable: true,
    example: '',
    description:
      'Empty: prompts of an MCP server keep their own names unless another server has the same. Absent: they appear as `<name>__<prompt>`',
  })
  prefix!: '' | null;
  @Setting(
    'text',
    NullableText(
      null,
      'Hash of its uploaded files, in whose folder it runs; null: its files are elsewhere on the host',
    ),
    null,
  )
  bundle!: string | null;
  /** Values are encrypted in the row, and decrypted only to start a process. */
  @Setting(
    'jsonb',
    ApiProperty({
      type: 'object',
      additionalProperties: variableSchema({}),
      example: { API_KEY: hiddenValue },
    }),
    {},
  )
  @VariableNames()
  @Variables({
    example: { TZ: 'UTC', REGION: { value: 'eu-west-1', secret: false } },
    description:
      'Secrets are write-only: answers show their names only. Every text is a secret, except ordinary words such as true or production',
  })
  env!: Readonly<Record<string, unknown>>;
  /** Stored as `json`, which keeps the author's order of members. */
  @Setting(
    'json',
    ApiProperty({ type: 'object', additionalProperties: true, example: { type: 'object' } }),
    {},
  )
  @AnyObject({
    required: false,
    example: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    description: "JSON Schema 2020-12; absent: the executable's own",
  })
  inputSchema!: JsonSchema;
  /** The approved tools of an MCP server, as they were listed at approval. */
  @Setting('json', undefined, null)
  definitions!: McpDefinition[] | null;
  @Setting('integer', ApiProperty({ example: 30000 }), 30_000)
  @OptionalInt(10, 3_600_000, { example: 10000, description: 'Absent: CUSTOM_TOOLS_DEFAULT_TIMEOUT' })
  timeoutMs!: number;
  @Setting('integer', ApiProperty({ example: 0 }))
  @OptionalInt(0, 10, { default: 0, example: 1 })
  maxRetries!: number;
  @Setting('integer', ApiProperty({ example: 1000 }))
  @OptionalInt(0, 60_000, { default: 1000, example: 200 })
  retryDelayMs!: number;
  @Setting('integer', ApiProperty({ example: 1 }))
  @OptionalInt(1, 1_000, { default: 1, example: 2, description: 'At most CUSTOM_TOOLS_MAX_POOL_SIZE' })
  poolSize!: number;
  @Setting('integer', ApiProperty({ example: 0 }))
  @OptionalInt(0, 1_000, { default: 0, example: 1, description: 'Processes kept warm; needs keepAlive' })
  minProcesses!: number;
  @Setting('integer', ApiProperty({ example: 1 }))
  @OptionalInt(1, 1_000, {
    default: 1,
    example: 1,
    description: 'Requests that one process serves at a time',
  })
  maxConcurrency!: number;
  @Setting('boolean', ApiProperty({ example: true }))
  @OptionalFlag({ default: false, example: true, description: 'false: a fresh process for every call' })
  keepAlive!: boolean;
  @Setting(
    'text',
    ApiProperty({
      enum: isolations,
      example: 'shared',
      description: 'Calls that share processes: those of a caller in a project, of a project, or all',
    }),
    'shared',
  )
  @OptionalOneOf(isolations, {
    example: 'project',
    description:
      'Calls that share processes: those of a caller in a project (user), of a project, or all (shared). Absent: project for `protocol: "mcp"`, else shared',
  })
  isolation!: (typeof isolations)[number];
  @Setting('jsonb', ApiProperty({ type: AnnotationsView }), defaultAnnotations)
  @OptionalNested(AnnotationsBody)
  annotations!: AnnotationsBody;
  @Setting(
    'jsonb',
    ApiProperty({ type: ThresholdSettings, description: 'Health thresholds that differ from the defaults' }),
    null,
  )
  @OptionalNested(ThresholdSettings, { nullable: true, description: 'Thresholds of its health' })
  thresholds!: ThresholdSettings | null;
  @Setting('jsonb', ApiProperty({ type: SandboxSettings }), null)
  @OptionalNested(SandboxSettings, { nullable: true })
  sandbox!: SandboxSettings | null;
  @Setting('jsonb', ApiProperty({ type: ToolPermissions }), null)
  @OptionalNested(ToolPermissions, { nullable: true })
  permissions!: ToolPermissions | null;
  @Setting('jsonb', ApiPropertyOptional({ description: 'What an LLM should read when the tool fails' }), null)
  @AnyObject({
    required: false,
    nullable: true,
    example: { note: 'Go on without it' },
    description: 'What an LLM should read when the tool fails or is refused',
  })
  fallback!: Record<string, unknown> | null;
  @Setting('integer', NullableNumber(null), null)
  @OptionalInt(0, 1_000_000, {
    nullable: true,
    example: 20,
    description: '0: no limit; absent: INVESTIGATION_CALLS_PER_TOOL',
  })
  callsPerInvestigation!: number | null;
  @Setting('integer', NullableNumber(null, 'Milliseconds; null: never'), null)
  @OptionalInt(0, 2_147_483_647, {
    nullable: true,
    default: 0,
    example: 60_000,
    description: 'Time that a result is reused for equal calls, in ms; needs annotations.readOnly. 0: never',
  })
  cacheTtlMs!: number | null;
  @Setting('text', ApiProperty({ enum: semanticErrorModes, example: 'show' }))
  @OptionalOneOf(semanticErrorModes, {
    default: 'show',
    example: 'mark',
    description:
      'Successful results that report an error: ignored (off), noted on the execution (show), ' +
      'or noted and, if the whole result is an error report, marked as a semantic failure (mark)',
  })
  semanticErrors!: SemanticErrors;
  @Setting('text', ApiProperty({ enum: captureSettings, example: 'none' }))
  @OptionalOneOf(captureSettings, {
    default: 'none',
    example: 'failures',
    description:
      'Executions whose input and answer are stored for inspection and replay; without the values of `env`, for CAPTURE_TTL_HOURS',
  })
  capture!: (typeof captureSettings)[number];
  @Setting('jsonb', ApiProperty({ type: [String], example: ['logs'] }), [])
  @OptionalTextList({ maxItems: 64, example: ['text'] })
  tags!: string[];
  @Setting(
    'jsonb',
    ApiPropertyOptional({
      type: 'object',
      additionalProperties: true,
      example: {},
      description: 'Up to 16 KiB; absent in lists',
    }),
    {},
  )
  @Rule(
    `must have at most ${maxMetadataBytes} bytes as JSON`,
    (value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes,
  )
  @AnyObject({
    required: false,
    example: { team: 'platform' },
    description: 'At most 16 KiB; lists leave it out',
  })
  metadata!: Record<string, unknown>;
}

/** The values of the settings that a registration omits. */
export const initialSettings = initialOf(ToolSettings);

export class CustomToolCreate extends IntersectionType(
  PickType(ToolSettings, ['name'] as const),
  PartialType(OmitType(ToolSettings, ['name', 'bundle', 'definitions'] as const), {
    skipNullProperties: false,
  }),
) {
  declare readonly env?: Record<string, GivenValue>;
}

/**
 * Changes a tool, but not its name. Absent members keep their values, also within annotations, env, sandbox, permissions
 * and thresholds; null resets a member to its default.
 */
export class CustomToolUpdate extends PartialType(
  OmitType(CustomToolCreate, ['name', 'env', 'protocol', 'command'] as const),
  { skipNullProperties: false },
) {
  @AnyText({
    required: false,
    maxLength: 4096,
    example: 'python3',
    description: 'Empty if there is a `url`',
  })
  readonly command?: string;
  @VariableNames()
  @Variables({
    nullable: true,
    example: { TZ: 'Europe/Berlin', OLD_TOKEN: null },
    description: 'Text sets a variable, null removes it; variables that are not named keep their values',
  })
  readonly env?: EnvChanges;
}
