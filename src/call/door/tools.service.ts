import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { invalidRequest, Problem } from '../../base/common/errors.js';
import { pageOf } from '../../web/rest/page.js';
import { acceptsEvents } from '../../base/streams/sse.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { isShown, type Lister, type Tool } from '../../web/contract/tool.js';
import { mayCall, type Principal } from '../../web/contract/principal.js';
import type { CallAnswer, CallRequest } from '../../web/contract/tool-call.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { InputRequired } from '../../web/contract/asks.js';
import type { QuestionsView } from './asks.dto.js';
import { OpenQuestions } from './open-questions.js';
import { streamCall } from './call-stream.js';
import { callOf, headersOf, incomingCall } from './incoming-call.js';
import { Door } from './door.js';
import { strictFormats, toolFormats } from '../platforms/tool-formats.js';
import { ToolRegistry } from './tool-registry.js';
import { type FoundTool, ToolSearch } from './tool-search.js';
import type * as dto from './tools.dto.js';
import type { PayloadView } from '../../records/executions/tool-metrics.dto.js';
import { ToolMetricsService } from '../../records/executions/tool-metrics.service.js';
import { loggedProblem } from '../../web/rest/problem.filter.js';
import {
  type NativeCall,
  nativeCall,
  type ReadableAnswer,
  readableOutcome,
  readableProblem,
} from '../platforms/native-calls.js';
import { textOf } from '../platforms/mcp-results.js';
import { platformSchema } from '../platforms/platform-schema.js';

/** Runs some work with a tool and releases the tool afterwards. */
type WithTool = <T>(work: (tool: Tool) => Promise<T>) => Promise<T>;

/** Answer of a call over HTTP: the outcome, questions to the caller, or an event stream. */
export type ExecuteAnswer = ToolOutcome | QuestionsView | Readable;

/** Tools in a page of the list. */
const defaultLimit = 100;
/** Max total size of a request's results, as a multiple of CUSTOM_TOOLS_MAX_OUTPUT_BYTES. */
const maxFullResults = 4;

/** Lists tools and runs calls over HTTP. */
@Injectable()
export class ToolsService {
  constructor(
    private readonly registry: ToolRegistry,
    private readonly search: ToolSearch,
    private readonly door: Door,
    private readonly metrics: ToolMetricsService,
    private readonly questions: OpenQuestions,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server' | 'customTools'>,
  ) {}

  /** Tools that the caller may call, sorted by name, or by relevance for a query. */
  async list(
    options: dto.ListToolsQuery,
    lister: Lister,
  ): Promise<{ data: object[]; nextCursor: string | null }> {
    const { query, format, kind, cursor } = options;
    // Lists in a platform's format are for a model, which gets all tools unless the client asks for pages.
    const { limit = format && cursor === undefined ? Infinity : defaultLimit } = options;
    assertStrictFormat(options);
    const all = query === undefined ? this.registry.all().map(unranked) : await this.search.find(query);
    const ofKind = kind ? all.filter(({ tool }) => kind.includes(tool.definition.kind)) : all;
    const shown = ofKind.filter(({ tool }) => isShown(tool, lister, kind !== undefined));
    const page = pageOf(shown, ({ place }) => place, limit, cursor);
    return { data: page.data.map(({ tool }) => this.described(tool, options)), nextCursor: page.nextCursor };
  }

  /** One tool that the caller may call. @throws Problem `tool_not_found` */
  async get(name: string, options: dto.FormatQuery, caller: Principal): Promise<object> {
    assertStrictFormat(options);
    await this.registry.lookUp(name);
    const tool = this.find(name, caller);
    if (tool) return this.described(tool, options);
    const detail = `There is no tool named ${JSON.stringify(name)}, or it is disabled`;
    throw new Problem('tool_not_found', detail);
  }

  /** A tool that the caller may call. */
  find(name: string, caller: Principal): Tool | undefined {
    const tool = this.registry.find(name);
    return tool && mayCall(caller, tool.definition) ? tool : undefined;
  }

  /** Runs a call. @throws Refusal for a call that was not run */
  call(request: CallRequest): Promise<CallAnswer> {
    return this.door.call(request);
  }

  /** Runs the call in a request. The answer is a stream if the client accepts events. */
  execute(request: FastifyRequest, reply: FastifyReply): Promise<ExecuteAnswer> {
    const call = incomingCall(request);
    const { sseHeartbeatMs } = this.config.server;
    return acceptsEvents(request.headers)
      ? streamCall((request) => this.door.call(request), call, reply, sseHeartbeatMs, this.questions)
      : answerCall(this.door.call(call), reply);
  }

  /**
   * Runs a test call of a tool that may be inactive, or whose circuit is open.
   * @throws Problem `invalid_request` for an Idempotency-Key, whose stored outcome could answer a real call
   */
  test(withTool: WithTool, request: FastifyRequest, reply: FastifyReply): Promise<ExecuteAnswer> {
    refuseKey(request);
    const call = incomingCall(request);
    const run = (toRun: CallRequest): Promise<CallAnswer> => withTool((tool) => this.door.test(tool, toRun));
    if (acceptsEvents(request.headers))
      return streamCall(run, call, reply, this.config.server.sseHeartbeatMs, this.questions);
    return answerCall(run(call), reply);
  }

  /** Runs a test call of a tool that need not be registered. @throws Problem `invalid_request`; Refusal if it was not run */
  async tryCall(
    tool: Tool,
    { input, ...origin }: Pick<CallRequest, 'input' | 'replayOf'>,
    request: FastifyRequest,
  ): Promise<ToolOutcome> {
    refuseKey(request);
    const call = callOf({ tool: tool.definition.name, input }, request);
    return (await this.door.test(tool, { ...call, ...origin })).outcome;
  }

  /**
   * Runs an execution once more, as a test call.
   * @throws Problem `not_found` for an unknown execution, tool or revision; `invalid_request` without an input; Refusal if it
   *   was not run
   */
  async replay(id: string, body: dto.ReplayBody, request: FastifyRequest): Promise<dto.ReplayView> {
    const original = await this.metrics.execution(id);
    const payload = (await this.metrics.findPayload(original.metricId)) ?? null;
    const input = Object.hasOwn(body, 'input') ? body.input : storedInput(payload);
    const outcome = await this.registry.withTool(original.toolName, body.revision, (tool) =>
      this.tryCall(tool, { input, replayOf: original.metricId }, request),
    );
    return { outcome, original, payload };
  }

  /**
   * Runs calls as agent platforms write them.
   * @throws Problem `invalid_request` if one of them is no platform's call. Failures and refusals of calls are their results.
   */
  async runToolCalls(body: dto.ToolCallsBody, request: FastifyRequest): Promise<dto.ToolCallsView> {
    const { format, context } = body;
    const key = request.headers['idempotency-key'];
    const member = body.tool_calls ? 'tool_calls' : 'toolCalls';
    const toolCalls = body[member] ?? invalidField('/toolCalls', 'is required');
    if (body.tool_calls && body.toolCalls) invalidField('/toolCalls', 'must be left out beside tool_calls');
    const calls = toolCalls.map(
      (wire, place) => nativeCall(wire, format) ?? invalidField(`/${member}/${place}`, unknownCall),
    );
    // The tool's schema restores the input, even if only another replica has registered the tool so far.
    await Promise.all(calls.map(({ tool }) => this.registry.lookUp(tool)));
    const requests = calls.map((call) => {
      const idempotencyKey = key === undefined ? undefined : `${String(key)}:${call.id}`;
      const given = { tool: call.tool, input: this.restoredInput(call), context, idempotencyKey };
      return { call, request: callOf(given, request) };
    });
    const limitSize = this.sizeLimit(calls.length);
    const results = requests.map(async ({ call, request: toRun }) => {
      const startedAt = performance.now();
      const answer = limitSize(await this.answerTo(call, toRun));
      return call.answer(answer, performance.now() - startedAt);
    });
    return { results: await Promise.all(results) };
  }

  /** Our own full view, or a platform's format. */
  private described(tool: Tool, { format, strict }: dto.FormatQuery): object {
    const unavailable = tool.unavailable?.();
    if (!format) return { ...tool.definition, ...(unavailable && { unavailable }) };
    return toolFormats[format]({ ...tool.definition, name: this.registry.nameIn(format, tool) }, strict);
  }

  /** Limits the size of all results together, so that they can be serialised: those beyond it are reported as failed. */
  private sizeLimit(calls: number): (answer: ReadableAnswer) => ReadableAnswer {
    const maxSize = maxFullResults * this.config.customTools.maxOutputBytes;
    let sizeLeft = maxSize;
    return (answer) => {
      // Few results cannot exceed the limit, and are not measured.
      const size = calls > maxFullResults ? textOf(answer.parts ?? answer.value).length : 0;
      if (size > sizeLeft) return tooLarge(maxSize);
      sizeLeft -= size;
      return answer;
    };
  }

  /** The input of a native call, as the tool's schema has it and not the platform's. */
  private restoredInput({ tool, input }: NativeCall): unknown {
    const schema = this.registry.find(tool)?.definition.inputSchema;
    return schema ? platformSchema(schema).restored(input) : input;
  }

  /** Runs a native call. Its failure or refusal is an answer, too. */
  private async answerTo({ malformed }: NativeCall, request: CallRequest): Promise<ReadableAnswer> {
    const isMcp = this.registry.find(request.tool)?.definition.kind === 'mcp';
    try {
      if (malformed !== undefined) throw new Problem('invalid_input', malformed);
      return readableOutcome((await this.door.call(request)).outcome, isMcp);
    } catch (error) {
      return readableProblem(loggedProblem(error, request.context.requestId));
    }
  }
}

/** @throws Problem `invalid_request` for an Idempotency-Key */
function refuseKey({ headers }: FastifyRequest): void {
  if (headers['idempotency-key'] !== undefined)
    throw new Problem('invalid_request', 'A test call takes no Idempotency-Key: it runs each time');
}

/** @throws Problem `invalid_request` for `strict` with a format that has no strict form */
function assertStrictFormat({ format, strict }: dto.FormatQuery): void {
  if (!strict || (format && strictFormats.includes(format))) return;
  throw invalidRequest({ pointer: '/strict', detail: `is for the formats ${strictFormats.join(' and ')}` });
}

/** A tool in a list without a query. */
const unranked = (tool: Tool): FoundTool => ({ tool, confidence: 0, place: tool.definition.name });

/** Answers with the outcome of a call, or 202 with the tool's questions. */
async function answerCall(call: Promise<CallAnswer>, reply: FastifyReply): Promise<ExecuteAnswer> {
  try {
    const answer = await call;
    const headers = headersOf(answer);
    if (headers) void reply.headers(headers);
    return answer.outcome;
  } catch (error) {
    if (!(error instanceof InputRequired)) throw error;
    void reply.status(202);
    const { executionId, inputRequests = {}, requestState = '' } = error;
    return { executionId, status: 'input_required', inputRequests, requestState };
  }
}

/** The input of a stored payload. @throws Problem `invalid_request` if it is not there as it was sent */
function storedInput(payload: PayloadView | null): unknown {
  if (payload && 'input' in payload && !payload.redacted) return payload.input;
  let why = 'the original input was too large to be stored';
  if (payload === null) why = 'the original input was not captured, or its retention has ended';
  else if (payload.redacted) why = 'a secret was removed from the original input';
  throw invalidRequest({ pointer: '/input', detail: `must be given: ${why}` });
}

/** Stands for a result beyond the limit. */
const tooLarge = (maxSize: number): ReadableAnswer => ({
  failed: true,
  value:
    `output_too_large: the tool was called, and its result left out: the results of one request may have ${maxSize} ` +
    `characters together (${maxFullResults} × CUSTOM_TOOLS_MAX_OUTPUT_BYTES). Call fewer tools at a time`,
});

const unknownCall = 'is no tool call of OpenAI, Anthropic or Distri';

/** @throws Problem `invalid_request` that names a field */
function invalidField(pointer: string, detail: string): never {
  throw invalidRequest({ pointer, detail });
}
