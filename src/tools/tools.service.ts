import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../common/errors.js';
import { pageOf } from '../common/page.js';
import { rateLimitHeaders } from '../investigations/rate-limit-headers.js';
import type { CallRequest, Principal } from '../tool-contract/tool-call.js';
import type { Tool } from '../tool-contract/tool.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { callContext } from './call-context.js';
import { callerSignal } from './caller-signal.js';
import type { ExecuteBody } from './execute-body.pipe.js';
import { type CallAnswer, ToolDoor } from './tool-door.js';
import { describeTool, type ToolFormat } from './tool-formats.js';
import { ToolRegistry } from './tool-registry.js';
import type { ListToolsQuery } from './tools.dto.js';

/** What stands between HTTP and the door. */
@Injectable()
export class ToolsService {
  constructor(
    private readonly registry: ToolRegistry,
    private readonly door: ToolDoor,
  ) {}

  list({ format, query, limit, cursor }: ListToolsQuery): { data: object[]; nextCursor: string | null } {
    const wanted = query?.toLowerCase();
    const matches = ({ definition: { name, description, tags } }: Tool): boolean =>
      !wanted || [name, description, ...tags].some((text) => text.toLowerCase().includes(wanted));
    const page = pageOf(this.registry.all().filter(matches), (tool) => tool.definition.name, limit, cursor);
    return { data: page.data.map((tool) => describeTool(tool, format)), nextCursor: page.nextCursor };
  }

  get(name: string, format: ToolFormat | undefined): object {
    const tool = this.registry.find(name);
    if (!tool)
      throw new Problem(
        'tool_not_found',
        `There is no tool named ${JSON.stringify(name)}, or it is disabled`,
      );
    return describeTool(tool, format);
  }

  execute(name: string, body: ExecuteBody, principal: Principal, http: HttpExchange): Promise<ToolOutcome> {
    return this.answer(http, this.door.call(callRequest(name, body, principal, http)));
  }

  /** A trial run of a tool that may be inactive or cut off. */
  test(tool: Tool, body: ExecuteBody, principal: Principal, http: HttpExchange): Promise<ToolOutcome> {
    return this.answer(http, this.door.test(tool, callRequest(tool.definition.name, body, principal, http)));
  }

  private async answer({ reply }: HttpExchange, call: Promise<CallAnswer>): Promise<ToolOutcome> {
    const { outcome, budget } = await call;
    if (budget) void reply.headers(rateLimitHeaders(budget));
    return outcome;
  }
}

export interface HttpExchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

function callRequest(tool: string, body: ExecuteBody, principal: Principal, http: HttpExchange): CallRequest {
  const { request, reply } = http;
  return {
    tool,
    input: body.input,
    context: callContext(body.context, request.headers, { id: request.id, userId: principal.userId }),
    principal,
    timeoutMs: body.context.timeoutMs,
    signal: callerSignal(reply),
    bytesAtMost: Number(request.headers['content-length']) || undefined,
  };
}
