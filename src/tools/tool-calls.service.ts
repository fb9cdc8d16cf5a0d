import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { invalidRequest, Problem } from '../common/errors.js';
import { asProblem } from '../common/problem.filter.js';
import type { CallRequest } from '../tool-contract/tool-call.js';
import { Door } from './door.js';
import { callOf } from './incoming-call.js';
import { type NativeCall, nativeCall } from './native-calls.js';
import { type ReadableAnswer, readableOutcome, readableProblem } from './readable-answer.js';
import { withoutNulls } from './strict-schemas.js';
import { ToolRegistry } from './tool-registry.js';
import type { ToolCallsBody, ToolCallsView } from './tools.shapes.js';

/** Calls as agent platforms write them. */
@Injectable()
export class ToolCallsService {
  constructor(
    private readonly door: Door,
    private readonly registry: ToolRegistry,
  ) {}

  /** @throws Problem `invalid_request` for what is no platform's call; whatever becomes of a call is its result */
  async run(
    { toolCalls, format, context }: ToolCallsBody,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<ToolCallsView> {
    const key = request.headers['idempotency-key'];
    const asked = toolCalls.map((wire, place) => {
      const call = nativeCall(wire, format) ?? unknownCall(place);
      const idempotencyKey = key === undefined ? undefined : `${String(key)}:${call.id}`;
      const toRun = { tool: call.tool, input: this.inputOf(call), context, idempotencyKey };
      return { call, request: callOf(toRun, request, reply) };
    });
    const results = asked.map(async ({ call, request: toRun }) => {
      const began = performance.now();
      const answer = await this.answerTo(call, toRun);
      return call.answer(answer, performance.now() - began);
    });
    return { results: await Promise.all(results) };
  }

  private inputOf({ tool, input, nullsForAbsent }: NativeCall): unknown {
    const schema = nullsForAbsent && this.registry.find(tool)?.definition.inputSchema;
    return schema ? withoutNulls(schema, input) : input;
  }

  private async answerTo({ malformed }: NativeCall, request: CallRequest): Promise<ReadableAnswer> {
    try {
      if (malformed !== undefined) throw new Problem('invalid_input', malformed);
      return readableOutcome((await this.door.call(request)).outcome);
    } catch (error) {
      return readableProblem(asProblem(error));
    }
  }
}

function unknownCall(place: number): never {
  const detail = 'is no tool call of OpenAI, Anthropic or Distri';
  throw invalidRequest({ pointer: `/toolCalls/${place}`, detail });
}
