import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../common/errors.js';
import { asProblem } from '../common/problem.filter.js';
import { compileSchema } from '../tool-contract/schema-compiler.js';
import { Door } from './door.js';
import { callOf, executeBodySchema } from './incoming-call.js';
import { type NativeCall, nativeCall, type ResultFormat, resultFormats } from './native-calls.js';
import { type ReadableAnswer, readableOutcome, readableProblem } from './readable-answer.js';

const mostCalls = 128;

export const toolCallsBodySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['toolCalls'],
  properties: {
    toolCalls: {
      type: 'array',
      minItems: 1,
      maxItems: mostCalls,
      items: { type: 'object', additionalProperties: true },
      description: 'As the model wrote them',
    },
    format: {
      type: 'string',
      enum: [...resultFormats],
      description:
        "The form of the results, where it is not that of the calls: HolmesGPT's models call as OpenAI's do",
    },
    context: executeBodySchema.properties.context,
  },
};
const { problemsOf } = compileSchema(toolCallsBodySchema);

interface ToolCallsBody {
  readonly toolCalls: readonly object[];
  readonly format?: ResultFormat;
  readonly context?: unknown;
}

/** Calls as agent platforms write them. */
@Injectable()
export class ToolCallsService {
  constructor(private readonly door: Door) {}

  /** @throws Problem `invalid_request` for what is no platform's call; whatever becomes of a call is its result */
  async run(request: FastifyRequest, reply: FastifyReply): Promise<{ results: object[] }> {
    const errors = problemsOf(request.body ?? {});
    if (errors.length > 0) {
      const detail = errors.map((error) => `${error.pointer.slice(1) || 'body'} ${error.detail}`).join('; ');
      throw new Problem('invalid_request', detail, { errors });
    }
    const { toolCalls, format, context } = request.body as ToolCallsBody;
    const calls = toolCalls.map((wire, place) => nativeCall(wire, format) ?? unknownCall(place));
    const key = request.headers['idempotency-key'];
    const results = calls.map(async (call) => {
      const began = performance.now();
      const idempotencyKey = key === undefined ? undefined : `${String(key)}:${call.id}`;
      const asked = { tool: call.tool, input: call.input, context, idempotencyKey };
      const answer = await this.answerTo(call, () => callOf(asked, request, reply));
      return call.answer(answer, performance.now() - began);
    });
    return { results: await Promise.all(results) };
  }

  private async answerTo(
    { malformed }: NativeCall,
    call: () => ReturnType<typeof callOf>,
  ): Promise<ReadableAnswer> {
    try {
      if (malformed !== undefined) throw new Problem('invalid_input', malformed);
      return readableOutcome((await this.door.call(call())).outcome);
    } catch (error) {
      return readableProblem(asProblem(error));
    }
  }
}

function unknownCall(place: number): never {
  const pointer = `/toolCalls/${place}`;
  const detail = 'is no tool call of OpenAI, Anthropic or Distri';
  throw new Problem('invalid_request', `${pointer.slice(1)} ${detail}`, { errors: [{ pointer, detail }] });
}
