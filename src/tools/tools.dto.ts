import {
  ApiExtraModels,
  ApiOkResponse,
  ApiProperty,
  ApiPropertyOptional,
  getSchemaPath,
  IntersectionType,
} from '@nestjs/swagger';
import { errorTable } from '../common/errors.js';
import {
  AnyObject,
  ObjectList,
  OptionalFlag,
  OptionalOneOf,
  OptionalText,
  PageQuery,
  type Said,
} from '../rest/dto.js';
import { type ResultFormat, resultFormats } from '../platforms/native-calls.js';
import { type ToolFormat, toolFormatNames } from '../platforms/tool-formats.js';
import { applyDecorators } from '@nestjs/common';

export class FormatQuery {
  @OptionalOneOf(toolFormatNames, { description: 'How the agent platform wants tools described' })
  readonly format?: ToolFormat;
  @OptionalFlag({
    description:
      "With OpenAI's formats: schemas in its strict form, in which what is optional may be null; a schema that has none is given as it is",
  })
  readonly strict?: boolean;
}

export class ListToolsQuery extends IntersectionType(PageQuery, FormatQuery) {
  @OptionalText(1_000, { description: 'What the tool should do', example: 'summarise log lines' })
  readonly query?: string;
}

export class AnnotationsView {
  @ApiProperty({ example: true }) readonly readOnly!: boolean;
  @ApiProperty({ example: true }) readonly idempotent!: boolean;
  @ApiProperty({ example: false }) readonly destructive!: boolean;
  @ApiProperty({ example: false }) readonly openWorld!: boolean;
}

export class ToolView {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @ApiProperty({ enum: ['builtin', 'custom', 'mcp'], example: 'builtin' }) readonly kind!: string;
  @ApiProperty({ example: '1.0.0' }) readonly version!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  })
  readonly inputSchema!: object;
  @AnyObject({
    required: false,
    example: { type: 'object' },
    description: "Of the results' structured content",
  })
  readonly outputSchema?: object;
  @ApiProperty() readonly annotations!: AnnotationsView;
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

export class OutcomeView {
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

const openAiCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_playbooks', arguments: '{"query":"pod OOMKilled"}' },
};

const Calls = (said: Said): PropertyDecorator =>
  ObjectList({ required: false, minItems: 1, maxItems: 128, ...said });

export class ToolCallsBody {
  @Calls({
    example: [openAiCall],
    description: 'Calls of OpenAI, Anthropic or Distri, as the model wrote them',
  })
  readonly toolCalls?: object[];
  @Calls({ description: 'Another name for toolCalls' })
  readonly tool_calls?: object[];
  @OptionalOneOf(resultFormats, {
    description: "The results' form, by default that of the calls: models of HolmesGPT call as OpenAI's do",
  })
  readonly format?: ResultFormat;
  @AnyObject({
    required: false,
    example: { investigationId: 'inv-42' },
    description: 'As for the call of one tool',
  })
  readonly context?: object;
}

export class ToolCallsView {
  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    example: [{ role: 'tool', tool_call_id: 'call_1', content: '{"playbooks":[],"total_results":0}' }],
    description: "In the order of the calls, as the platform's next message needs them",
  })
  readonly results!: object[];
}

const schemaExample = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };

class OpenAiFunctionView {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @AnyObject({ example: schemaExample }) readonly parameters!: object;
  @ApiPropertyOptional({ example: true }) readonly strict?: boolean;
}

class OpenAiResponsesToolView extends OpenAiFunctionView {
  @ApiProperty({ enum: ['function'], example: 'function' }) readonly type!: string;
}

class OpenAiToolView {
  @ApiProperty({ enum: ['function'], example: 'function' }) readonly type!: string;
  @ApiProperty() readonly function!: OpenAiFunctionView;
}

class AnthropicToolView {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @AnyObject({ example: schemaExample }) readonly input_schema!: object;
}

class McpListedToolView {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @AnyObject({ example: schemaExample }) readonly inputSchema!: object;
  @AnyObject({ required: false, example: { type: 'object' } }) readonly outputSchema?: object;
  @AnyObject({ example: { readOnlyHint: true } }) readonly annotations!: object;
}

class DistriToolView {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @ApiProperty({ enum: ['function'], example: 'function' }) readonly type!: string;
  @AnyObject({ example: schemaExample }) readonly parameters!: object;
}

class HolmesToolView {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @AnyObject({ example: { query: { type: 'string', required: true } } }) readonly parameters!: object;
}

const models = [
  ToolView,
  OpenAiToolView,
  OpenAiResponsesToolView,
  AnthropicToolView,
  McpListedToolView,
  DistriToolView,
  HolmesToolView,
];
const anyTool = { anyOf: models.map((model) => ({ $ref: getSchemaPath(model) })) };

/** One tool: our own view, or the platform's when `format` is given. */
export function ApiToolResponse(): MethodDecorator {
  return applyDecorators(ApiExtraModels(...models), ApiOkResponse({ schema: anyTool }));
}

/** A page of tools. */
export function ApiToolListResponse(): MethodDecorator {
  const schema = {
    type: 'object',
    required: ['data', 'nextCursor'],
    properties: {
      data: { type: 'array', items: anyTool },
      nextCursor: { type: 'string', nullable: true, example: null },
    },
  };
  return applyDecorators(ApiExtraModels(...models), ApiOkResponse({ schema }));
}
