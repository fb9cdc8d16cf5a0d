import { Controller, Delete, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { AsyncExecutions } from './async-executions.js';
import { AsyncExecutionParams, AsyncExecutionView, WaitQuery } from './async-executions.dto.js';

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
      'Of a call with `Prefer: respond-async`, for its caller, until 24 hours after its end. With `waitMs` the answer waits for the end. With `Accept: text/event-stream` each `status` is sent, and the last event is `outcome`.',
  })
  @ApiExtraModels(AsyncExecutionView)
  @ApiOkResponse({
    content: {
      'application/json': { schema: { $ref: getSchemaPath(AsyncExecutionView) } },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  @ApiProblems('rate_limited', 'shutting_down')
  getAsyncExecution(
    @Param() { id }: AsyncExecutionParams,
    @Query() query: WaitQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AsyncExecutionView | Readable> {
    return this.service.view(id, query, request, reply);
  }

  @Delete(':id')
  @ApiOperation({
    summary: 'Cancel an asynchronous execution',
    description: 'One that is queued does not run; one that runs is cut off within seconds.',
  })
  @ApiOkResponse({ type: AsyncExecutionView })
  @ApiProblems('conflict')
  cancelAsyncExecution(
    @Param() { id }: AsyncExecutionParams,
    @Req() request: FastifyRequest,
  ): Promise<AsyncExecutionView> {
    return this.service.cancel(id, request);
  }
}
