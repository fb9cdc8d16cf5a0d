import {
  NullableMoment,
  Example,
  OneOfThese,
  OptionalObject,
  Texts,
  AnyObject,
  FreeJson,
  ObjectList,
  OptionalFlag,
  OptionalInt,
  OptionalOneOf,
  OptionalText,
  Cursor,
  SomeOf,
  type Schema,
  Text,
} from '../../web/rest/dto.js';
import {
  ApiBody,
  ApiExtraModels,
  ApiHeaders,
  ApiOkResponse,
  ApiProperty,
  ApiPropertyOptional,
  getSchemaPath,
} from '@nestjs/swagger';
import { applyDecorators } from '@nestjs/common';
import { errorTable, type ProblemCode } from '../../base/common/errors.js';
import { type ToolKind, toolKinds } from '../../web/contract/tool.js';
import { MaybeUnavailable } from '../circuits/circuit.dto.js';
import { type ResultFormat, resultFormats } from '../platforms/native-calls.js';
import { type ToolFormat, toolFormatNames } from '../platforms/tool-formats.js';
import { ExecutionView, PayloadView } from '../../records/executions/tool-metrics.dto.js';
import { ApiProblems, ProblemView } from '../../web/rest/api-problems.decorator.js';
import { QuestionsView } from './asks.dto.js';
import { executeBodySchema } from './incoming-call.js';

export class FormatQuery {
  @OptionalOneOf(toolFormatNames, { description: 'Agent platform whose tool format the answer has' })
  readonly format?: ToolFormat;
  @OptionalFlag({
    description:
      "With OpenAI's formats: schemas in strict form, in which optional members may be null. A schema without such a form stays as it is",
  })
  readonly strict?: boolean;
}

export class ListToolsQuery extends FormatQuery {
  @OptionalInt(1, 1_000, {
    example: 100,
    description: 'Page size. Default: 100; all tools with `format` and without `cursor`',
  })
  readonly limit?: number;
  @Cursor() readonly cursor?: string;
  @SomeOf(toolKinds, {
    required: false,
    example: ['builtin', 'custom'],
    description: 'Only tools of these kinds. By default `ui` tools are listed only for callers with a page',
  })
  readonly kind?: readonly ToolKind[];
  @OptionalText(1_000, {
    description: 'Search text: what the tool should do',
    example: 'summarise log lines',
  })
  readonly query?: string;
}

export class AnnotationsView {
  @Example(true) readonly readOnly!: boolean;
  @Example(true) readonly idempotent!: boolean;
  @Example(false) readonly destructive!: boolean;
  @Example(false) readonly openWorld!: boolean;
}

/** The name and description of a tool, which all formats have. */
class NamedView extends MaybeUnavailable {
  @Example('get_playbooks') readonly name!: string;
  @Example('Search for relevant remediation workflows') readonly description!: string;
}

const metaExample = { ui: { resourceUri: 'ui://files/browse' } };
const icons = {
  type: 'array',
  items: { type: 'object' },
  example: [{ src: 'https://files.example.com/icon.png' }],
} as const;

export class ToolView extends NamedView {
  @ApiPropertyOptional({ example: 'Read a file', description: 'As its MCP server listed it' })
  readonly title?: string;
  @OneOfThese(toolKinds, 'builtin') readonly kind!: string;
  @Example('1.0.0') readonly version!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  })
  readonly inputSchema!: object;
  @OptionalObject({ type: 'object' }, "Schema of the results' structured content")
  readonly outputSchema?: object;
  @ApiProperty() readonly annotations!: AnnotationsView;
  @OptionalObject({ readOnlyHint: true }, 'Annotations as its MCP server listed them')
  readonly hints?: object;
  @ApiPropertyOptional(icons) readonly icons?: readonly object[];
  @OptionalObject(metaExample, 'The `_meta` with which its MCP server listed it') readonly meta?: object;
  @Texts(['incidents']) readonly tags!: string[];
  @Example(30_000, 'Time limit of one call, milliseconds') readonly timeoutMs!: number;
  @ApiPropertyOptional({ description: 'Text or value for the LLM if the tool fails' })
  readonly fallback?: unknown;
}

export class ToolErrorView {
  @Example(-32001) readonly code!: number;
  @OneOfThese(
    Object.entries(errorTable).flatMap(([code, { http }]) => (http === 200 ? [code] : [])),
    'tool_error',
  )
  readonly type!: string;
  @Example('No such file') readonly message!: string;
  @ApiPropertyOptional({ description: "The tool's own details" }) readonly data?: unknown;
}

export class OutcomeView {
  @Example('019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f') readonly executionId!: string;
  @Example('get_playbooks') readonly tool!: string;
  @OneOfThese(['success', 'error', 'timeout'], 'success') readonly status!: string;
  @ApiPropertyOptional({
    description: "The tool's result, any JSON value; its fallback if the execution failed",
    example: { playbooks: [], total_results: 0 },
  })
  readonly result?: unknown;
  @ApiPropertyOptional({ type: ToolErrorView }) readonly error?: ToolErrorView;
  @Example(12, 'Includes queue wait and process start') readonly executionTimeMs!: number;
  @Example(1) readonly attempts!: number;
  @Example(false) readonly cached!: boolean;
}

const openAiCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_playbooks', arguments: '{"query":"pod OOMKilled"}' },
};

const Calls = (schema: Schema): PropertyDecorator =>
  ObjectList({ required: false, minItems: 1, maxItems: 128, ...schema });

export class ToolCallsBody {
  @Calls({
    example: [openAiCall],
    description: 'Calls of OpenAI, Anthropic or Distri, as the model wrote them',
  })
  readonly toolCalls?: object[];
  @Calls({ description: 'Another name for toolCalls' }) readonly tool_calls?: object[];
  @OptionalOneOf(resultFormats, {
    description:
      "Format of the results. Default: that of the calls (models of HolmesGPT call in OpenAI's format)",
  })
  readonly format?: ResultFormat;
  @OptionalObject({ investigationId: 'inv-42' }, 'As for the call of one tool') readonly context?: object;
}

export class ToolCallsView {
  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    example: [{ role: 'tool', tool_call_id: 'call_1', content: '{"playbooks":[],"total_results":0}' }],
    description:
      "In the order of the calls, as the platform's next message needs them. Pictures and files have the platform's format, or a mark if it accepts text only",
  })
  readonly results!: object[];
}

const schemaExample = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };

class OpenAiFunctionView extends NamedView {
  @AnyObject({ example: schemaExample }) readonly parameters!: object;
  @ApiPropertyOptional({ example: true }) readonly strict?: boolean;
}

class OpenAiResponsesToolView extends OpenAiFunctionView {
  @OneOfThese(['function'], 'function') readonly type!: string;
}

class OpenAiToolView {
  @OneOfThese(['function'], 'function') readonly type!: string;
  @ApiProperty() readonly function!: OpenAiFunctionView;
}

class AnthropicToolView extends NamedView {
  @AnyObject({ example: schemaExample }) readonly input_schema!: object;
}

class McpListedToolView extends NamedView {
  @ApiPropertyOptional({ example: 'Read a file' }) readonly title?: string;
  @AnyObject({ example: schemaExample }) readonly inputSchema!: object;
  @AnyObject({ required: false, example: { type: 'object' } }) readonly outputSchema?: object;
  @AnyObject({ required: false, example: { readOnlyHint: true } }) readonly annotations?: object;
  @ApiPropertyOptional(icons) readonly icons?: readonly object[];
  @AnyObject({ required: false, example: metaExample }) readonly _meta?: object;
}

class DistriToolView extends NamedView {
  @OneOfThese(['function'], 'function') readonly type!: string;
  @AnyObject({ example: schemaExample }) readonly parameters!: object;
}

class HolmesToolView extends NamedView {
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

export class ReplayBody {
  @OptionalInt(1, 2_147_483_647, {
    description:
      'Revision of a custom tool whose configuration is used, with the current files. Absent: the current one',
  })
  readonly revision?: number;
  @FreeJson({ required: false, description: 'Any JSON value. Absent: the captured input' })
  readonly input?: unknown;
}

/** A replay beside the execution that it repeats. */
export class ReplayView {
  @ApiProperty({ type: OutcomeView, description: 'Outcome of the replay' }) readonly outcome!: object;
  @ApiProperty({ type: ExecutionView, description: 'Record of the replayed execution' })
  readonly original!: ExecutionView;
  @ApiProperty({
    type: PayloadView,
    nullable: true,
    description: 'Input and answer of the original; null if they were not captured',
  })
  readonly payload!: PayloadView | null;
}

const contextHeaders = ['user', 'session', 'request', 'investigation', 'run', 'thread', 'project'].map(
  (name) => ({
    name: `x-${name}-id`,
    required: false,
    description: `The call's ${name}; the body's context wins`,
  }),
);

const events =
  'Server-sent events: any number of `progress` {progress, total?, message?}, `log` {level, message, data?} and, with ' +
  '`elicitation`, `question` {questionId, method, params} and `question_withdrawn` {questionId}, then ' +
  'one `outcome` with what `application/json` answers, or one `problem` when the server failed meanwhile';
const exampleEvents = [
  ': execution 019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
  'event: progress\ndata: {"progress":1,"total":2,"message":"page 1"}',
  'event: log\ndata: {"level":"warn","message":"page 2 is empty"}',
  'event: outcome\ndata: {"executionId":"019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f","tool":"log_summary","status":"success","executionTimeMs":12,"attempts":1,"cached":false,"result":{}}',
]
  .map((event) => `${event}\n\n`)
  .join('');

/** Refusals of every run, including test calls. */
export const runProblems = [
  'invalid_input',
  'payload_too_large',
  'queue_full',
  'tool_unavailable',
  'recorder_full',
  'shutting_down',
] as const;

/** Documents a route that runs a tool. */
export function ApiExecute(example: object, ...problems: ProblemCode[]): MethodDecorator {
  return applyDecorators(
    ApiHeaders(contextHeaders),
    ApiBody({ schema: executeBodySchema, examples: { call: { value: example } } }),
    ApiExtraModels(OutcomeView, QuestionsView),
    ApiOkResponse({
      description: 'The tool ran; `status` tells whether it succeeded',
      content: {
        'application/json': { schema: { $ref: getSchemaPath(OutcomeView) } },
        'text/event-stream': { schema: { type: 'string', description: events }, example: exampleEvents },
      },
    }),
    ApiProblems(...problems, ...runProblems),
  );
}

const maxWaitMs = 30_000;

export class AsyncExecutionParams {
  @Text(64, { example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f' }) readonly id!: string;
}

export class WaitQuery {
  @OptionalInt(0, maxWaitMs, {
    example: 30_000,
    description: 'Milliseconds to wait for the end; 0: answer at once',
  })
  readonly waitMs?: number;
}

const statuses = ['queued', 'running', 'input_required', 'ended', 'refused', 'cancelled'] as const;

export class AsyncExecutionView {
  @Example('019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f') readonly id!: string;
  @Example('log_summary') readonly tool!: string;
  @OneOfThese(
    statuses,
    'ended',
    '`ended`: the tool ran; see `outcome`. `refused`: it was not run; see `problem`. `input_required`: the tool waits for answers to `inputRequests`.',
  )
  readonly status!: (typeof statuses)[number];
  @ApiProperty({ format: 'date-time', example: '2026-01-23T10:30:00.000Z' }) readonly submittedAt!: string;
  @NullableMoment('2026-01-23T10:30:00.010Z') readonly startedAt!: string | null;
  @NullableMoment('2026-01-23T10:30:04.120Z') readonly endedAt!: string | null;
  @OptionalObject({ amount: { method: 'elicitation/create' } }, 'Open MCP requests by name')
  readonly inputRequests?: object;
  @ApiPropertyOptional({ type: OutcomeView }) readonly outcome?: object;
  @ApiPropertyOptional({ type: ProblemView }) readonly problem?: object;
}

/** Schema of the 202 answer to a call. */
export const acceptedSchema = {
  oneOf: [AsyncExecutionView, QuestionsView].map((view) => ({ $ref: getSchemaPath(view) })),
};
