import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../common/api-problems.decorator.js';
import { toolCallsBodySchema, ToolCallsService } from './tool-calls.service.js';

const openAi = {
  toolCalls: [
    {
      id: 'call_1',
      type: 'function',
      function: { name: 'get_playbooks', arguments: '{"query":"pod OOMKilled"}' },
    },
  ],
};
const results = { type: 'array', items: { type: 'object', additionalProperties: true } };

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
      "Takes OpenAI's tool_calls (of chat completions or responses), Anthropic's tool_use blocks or Distri's ToolCalls as the model wrote them, runs them side by side and answers each in the platform's own form. A call that was refused, or whose arguments are no JSON, is answered by a text for the model.",
    operationId: 'runToolCalls',
  })
  @ApiBody({ schema: toolCallsBodySchema, examples: { openai: { value: openAi } } })
  @ApiOkResponse({ schema: { type: 'object', required: ['results'], properties: { results } } })
  @ApiProblems('invalid_request', 'payload_too_large', 'unauthorized', 'forbidden')
  run(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ results: object[] }> {
    return this.service.run(request, reply);
  }
}
