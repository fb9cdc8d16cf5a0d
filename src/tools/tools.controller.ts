import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { CurrentPrincipal, type Principal } from '../auth/principal.decorator.js';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { ApiExecute } from './api-execute.decorator.js';
import { ApiToolListResponse, ApiToolResponse, FormatQuery, ListToolsQuery } from './tools.dto.js';
import { ToolsService } from './tools.service.js';

@ApiTags('tools')
@Scopes('tools:call')
@Controller('api/v1/tools')
export class ToolsController {
  constructor(private readonly service: ToolsService) {}

  @Get()
  @ApiOperation({
    summary: 'List the tools that the caller can call now',
    description:
      "With `format` each tool is described as that platform's function list wants it. With `query` those come, the best first, that share words with it in name, tags, description or parameters, or in whose name it stands; else all, by name.",
  })
  @ApiToolListResponse()
  @ApiProblems('invalid_request', 'unauthorized')
  listTools(@Query() query: ListToolsQuery, @CurrentPrincipal() caller: Principal): Promise<object> {
    return this.service.list(query, caller);
  }

  @Get(':name')
  @ApiOperation({
    summary: 'Describe one tool',
    description: 'A disabled tool is not found, nor one that the key may not call.',
  })
  @ApiParam({ name: 'name', example: 'get_playbooks' })
  @ApiToolResponse()
  @ApiProblems('tool_not_found', 'invalid_request', 'unauthorized')
  getTool(
    @Param('name') name: string,
    @Query() query: FormatQuery,
    @CurrentPrincipal() caller: Principal,
  ): object {
    return this.service.get(name, query, caller);
  }

  @Post(':name/execute')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Call a tool',
    description:
      'An execution that ran answers 200 with its outcome; a call that was refused answers a problem. With `Accept: text/event-stream` the answer streams what the tool says meanwhile, and ends with the outcome.',
  })
  @ApiParam({ name: 'name', example: 'get_playbooks' })
  @ApiHeader({
    name: 'idempotency-key',
    required: false,
    description:
      'With the same key a call is not run twice: its outcome is given back with `idempotent-replayed: true`, for 24 hours',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  })
  @ApiExecute(
    { input: { query: 'pod OOMKilled, exit code 137' }, context: { investigationId: 'inv-42' } },
    'tool_not_found',
    'invalid_input',
    'invalid_request',
    'payload_too_large',
    'circuit_open',
    'queue_full',
    'rate_limited',
    'investigation_budget_spent',
    'recorder_full',
    'shutting_down',
    'tool_unavailable',
    'conflict',
    'idempotency_key_reused',
    'database_unavailable',
    'unauthorized',
    'forbidden',
  )
  executeTool(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ToolOutcome | Readable> {
    return this.service.execute(request, reply);
  }
}
