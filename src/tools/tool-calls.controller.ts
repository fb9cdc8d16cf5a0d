import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import { ToolCallsService } from './tool-calls.service.js';
import { ToolCallsBody, ToolCallsView } from './tools.dto.js';

@ApiTags('tools')
@Scopes('tools:call')
@Controller('api/v1/tool-calls')
export class ToolCallsController {
  constructor(private readonly service: ToolCallsService) {}

  @Post()
  @HttpCode(200)
  @ApiOperation({
    summary: "Run a platform's own tool calls",
    description:
      "Runs OpenAI's tool_calls (of chat completions or responses), Anthropic's tool_use blocks or Distri's ToolCalls side by side, and answers each in the platform's own form. A call that was refused, or whose arguments are no JSON, is answered by a text for the model.",
  })
  @ApiOkResponse({ type: ToolCallsView })
  @ApiProblems('invalid_request', 'payload_too_large', 'unauthorized', 'forbidden')
  runToolCalls(@Body() body: ToolCallsBody, @Req() request: FastifyRequest): Promise<ToolCallsView> {
    return this.service.run(body, request);
  }
}
