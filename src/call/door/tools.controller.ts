import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Post,
  Query,
  Req,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiExtraModels,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { CurrentPrincipal, type Principal } from '../../web/auth/principal.decorator.js';
import { ApiRoutes, Scopes } from '../../web/auth/scopes.decorator.js';
import { Answers } from '../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import * as asks from './asks.dto.js';
import * as dto from './tools.dto.js';
import { AsyncExecutions } from './async-executions.js';
import { listerOf, prefersAsync } from './incoming-call.js';
import { OpenQuestions } from './open-questions.js';
import { ToolsService } from './tools.service.js';
import { UpToDateInterceptor } from '../../records/executions/execution-recorder.js';

@ApiTags('tools')
@Scopes('tools:call')
@Controller('api/v1')
export class ToolsController {
  constructor(
    private readonly service: ToolsService,
    private readonly asynchronous: AsyncExecutions,
    private readonly questions: OpenQuestions,
  ) {}

  @Get('tools')
  @ApiOperation({
    summary: 'List the tools that the caller can call now',
    description:
      "With `format` all tools are listed in that platform's format, else a page of them. With `query` only tools that share words with it in name, tags, description or parameters, or whose name contains it, are listed, the best first. Without it, tools are sorted by name.",
  })
  @dto.ApiToolListResponse()
  @ApiProblems('invalid_request', 'unauthorized')
  listTools(@Query() query: dto.ListToolsQuery, @Req() request: FastifyRequest): Promise<object> {
    return this.service.list(query, listerOf(request));
  }

  @Get('tools/:name')
  @ApiOperation({
    summary: 'Describe one tool',
    description: 'Disabled tools, and tools that the key may not call, are not found.',
  })
  @ApiParam({ name: 'name', example: 'get_playbooks' })
  @dto.ApiToolResponse()
  @ApiProblems('tool_not_found', 'invalid_request', 'unauthorized')
  getTool(
    @Param('name') name: string,
    @Query() query: dto.FormatQuery,
    @CurrentPrincipal() caller: Principal,
  ): object {
    return this.service.get(name, query, caller);
  }

  @Post('tools/:name/execute')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Call a tool',
    description:
      'An execution that ran answers 200 with its outcome; a call that was refused answers a problem. With `Accept: text/event-stream` the answer streams progress and logs of the tool, and ends with the outcome. With `Prefer: respond-async` the call is queued and answered 202 with a `Location` (`GET /api/v1/executions/{id}`). If its replica is lost, only a call of an idempotent tool runs again.',
  })
  @ApiParam({ name: 'name', example: 'get_playbooks' })
  @ApiHeader({
    name: 'idempotency-key',
    required: false,
    description:
      'Calls with the same key run once. For 24 hours, further ones are answered with its outcome and `idempotent-replayed: true`',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  })
  @ApiHeader({ name: 'prefer', required: false, description: '`respond-async`: queue the call' })
  @ApiAcceptedResponse({
    schema: dto.acceptedSchema,
    description: 'The call is queued (`Prefer: respond-async`), or the tool asks the caller',
  })
  @dto.ApiExecute(
    { input: { query: 'pod OOMKilled, exit code 137' }, context: { investigationId: 'inv-42' } },
    'tool_not_found',
    'invalid_request',
    'circuit_open',
    'rate_limited',
    'investigation_budget_spent',
    'conflict',
    'idempotency_key_reused',
    'database_unavailable',
    'unauthorized',
    'forbidden',
  )
  executeTool(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ToolOutcome | dto.AsyncExecutionView | asks.QuestionsView | Readable> {
    if (prefersAsync(request)) return this.asynchronous.submit(request, reply);
    return this.service.execute(request, reply);
  }

  @Post('questions/:id')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Answer a question of a tool',
    description:
      'Answers an event `question` on the stream of a call with `elicitation`. Only the caller of that call may answer, at any replica.',
  })
  @ApiParam({ name: 'id', description: 'The `questionId` of the event' })
  @ApiNoContentResponse()
  @ApiProblems('not_found', 'invalid_request', 'payload_too_large', 'database_unavailable', 'unauthorized')
  answerQuestion(
    @Param('id') id: string,
    @Body() body: asks.QuestionAnswer,
    @CurrentPrincipal() caller: Principal,
  ): Promise<void> {
    return this.questions.answer(caller, id, { result: body });
  }

  @Post('tool-calls')
  @HttpCode(200)
  @Answers(
    dto.ToolCallsView,
    "Run a platform's own tool calls",
    "Runs OpenAI's tool_calls (of chat completions or responses), Anthropic's tool_use blocks or Distri's ToolCalls side by side, and answers each in the platform's own form. A call that was refused, or whose arguments are no JSON, is answered by a text for the model.",
    'invalid_request',
    'payload_too_large',
    'unauthorized',
    'forbidden',
  )
  runToolCalls(@Body() body: dto.ToolCallsBody, @Req() request: FastifyRequest): Promise<dto.ToolCallsView> {
    return this.service.runToolCalls(body, request);
  }
}

/** Replays recorded executions. Their other routes belong to the records, which cannot call tools. */
@ApiRoutes('api/v1/tool-metrics/executions', 'tool-metrics', 'tools:admin')
@UseInterceptors(UpToDateInterceptor)
export class ReplaysController {
  constructor(private readonly service: ToolsService) {}

  @Post(':id/replay')
  @HttpCode(200)
  @Answers(
    dto.ReplayView,
    'Run an execution once more',
    'Runs the captured input or another one, with the current tool or an earlier revision, as a test call (`test`, `metadata.replayOf`), which spends no budget and affects neither grade nor circuit. The tool really runs, so its effects happen again. The answer contains the outcome and the original.',
    'not_found',
    'conflict',
    ...dto.runProblems,
  )
  replayExecution(
    @Param('id') id: string,
    @Body() body: dto.ReplayBody,
    @Req() request: FastifyRequest,
  ): Promise<dto.ReplayView> {
    return this.service.replay(id, body, request);
  }
}

@ApiTags('tools')
@Scopes('tools:call')
@ApiProblems('invalid_request', 'not_found', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/executions')
export class AsyncExecutionsController {
  constructor(private readonly service: AsyncExecutions) {}

  @Get(':id')
  @ApiOperation({
    summary: 'Get an asynchronous execution, wait for its end, or follow it',
    description:
      'For the caller of a call with `Prefer: respond-async`, until 24 hours after its end. With `waitMs` the answer waits for the end. With `Accept: text/event-stream` each `status` is sent, and the last event is `outcome`.',
  })
  @ApiExtraModels(dto.AsyncExecutionView)
  @ApiOkResponse({
    content: {
      'application/json': { schema: { $ref: getSchemaPath(dto.AsyncExecutionView) } },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  @ApiProblems('rate_limited', 'shutting_down')
  getAsyncExecution(
    @Param() { id }: dto.AsyncExecutionParams,
    @Query() query: dto.WaitQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<dto.AsyncExecutionView | Readable> {
    return this.service.view(id, query, request, reply);
  }

  @Post(':id/answers')
  @HttpCode(200)
  @Answers(
    dto.AsyncExecutionView,
    'Answer the questions of an asynchronous execution',
    'The execution continues once all of its `inputRequests` are answered. Other answers are ignored.',
  )
  answerAsyncExecution(
    @Param() { id }: dto.AsyncExecutionParams,
    @Body() { inputResponses }: asks.ExecutionAnswers,
    @Req() request: FastifyRequest,
  ): Promise<dto.AsyncExecutionView> {
    return this.service.answer(id, inputResponses, request);
  }

  @Delete(':id')
  @Answers(
    dto.AsyncExecutionView,
    'Cancel an asynchronous execution',
    'A queued execution does not run; a running one is stopped within seconds.',
    'conflict',
  )
  cancelAsyncExecution(
    @Param() { id }: dto.AsyncExecutionParams,
    @Req() request: FastifyRequest,
  ): Promise<dto.AsyncExecutionView> {
    return this.service.cancel(id, request);
  }
}
