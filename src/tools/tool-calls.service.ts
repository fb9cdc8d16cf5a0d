import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { invalidRequest, Problem } from '../common/errors.js';
import { toldProblem } from '../rest/problem.filter.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import type { CallRequest } from '../tool-contract/tool-call.js';
import { Door } from './door.js';
import { callOf } from './incoming-call.js';
import {
  type NativeCall,
  nativeCall,
  type ReadableAnswer,
  readableOutcome,
  readableProblem,
  textOf,
} from '../platforms/native-calls.js';
import { platformSchema } from '../platforms/platform-schema.js';
import { withoutNulls } from '../platforms/strict-schemas.js';
import { ToolRegistry } from './tool-registry.js';
import type { ToolCallsBody, ToolCallsView } from './tools.dto.js';

/** The results of one request may be as large together as so many of the largest. */
const largestResults = 4;

/** Calls as agent platforms write them. */
@Injectable()
export class ToolCallsService {
  constructor(
    private readonly door: Door,
    private readonly registry: ToolRegistry,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'customTools'>,
  ) {}

  /** @throws Problem `invalid_request` for what is no platform's call; whatever becomes of a call is its result */
  async run(body: ToolCallsBody, request: FastifyRequest): Promise<ToolCallsView> {
    const { format, context } = body;
    const key = request.headers['idempotency-key'];
    const member = body.tool_calls ? 'tool_calls' : 'toolCalls';
    const toolCalls = body[member] ?? wrong('/toolCalls', 'is required');
    if (body.toolCalls !== toolCalls && body.toolCalls)
      wrong('/toolCalls', 'must be left out beside tool_calls');
    const asked = toolCalls.map((wire, place) => {
      const call = nativeCall(wire, format) ?? wrong(`/${member}/${place}`, unknownCall);
      const idempotencyKey = key === undefined ? undefined : `${String(key)}:${call.id}`;
      const toRun = { tool: call.tool, input: this.inputOf(call), context, idempotencyKey };
      return { call, request: callOf(toRun, request) };
    });
    const fitting = this.capOnAll(asked.length);
    const results = asked.map(async ({ call, request: toRun }) => {
      const began = performance.now();
      const answer = fitting(await this.answerTo(call, toRun));
      return call.answer(answer, performance.now() - began);
    });
    return { results: await Promise.all(results) };
  }

  /** A message of many large results could not be written: those that come when it is full are told as failed. */
  private capOnAll(calls: number): (answer: ReadableAnswer) => ReadableAnswer {
    const most = largestResults * this.config.customTools.maxOutputBytes;
    let left = most;
    return (answer) => {
      const size = calls > largestResults ? textOf(answer.value).length : 0;
      if (size > left) return tooLarge(most);
      left -= size;
      return answer;
    };
  }

  private inputOf({ tool, input, nullsForAbsent }: NativeCall): unknown {
    const own = this.registry.find(tool)?.definition.inputSchema;
    if (!own) return input;
    const { schema, restored } = platformSchema(own);
    return restored(nullsForAbsent ? withoutNulls(schema, input) : input);
  }

  private async answerTo({ malformed }: NativeCall, request: CallRequest): Promise<ReadableAnswer> {
    try {
      if (malformed !== undefined) throw new Problem('invalid_input', malformed);
      return readableOutcome((await this.door.call(request)).outcome);
    } catch (error) {
      return readableProblem(toldProblem(error, request.context.requestId));
    }
  }
}

const tooLarge = (most: number): ReadableAnswer => ({
  failed: true,
  value:
    `output_too_large: the tool was called, and its result left out: the results of one request may have ${most} ` +
    `characters together (${largestResults} × CUSTOM_TOOLS_MAX_OUTPUT_BYTES). Call fewer tools at a time`,
});

const unknownCall = 'is no tool call of OpenAI, Anthropic or Distri';

function wrong(pointer: string, detail: string): never {
  throw invalidRequest({ pointer, detail });
}
