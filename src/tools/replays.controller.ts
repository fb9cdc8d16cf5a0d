import { Body, Controller, HttpCode, Param, Post, Req, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import { UpToDateInterceptor } from '../records/executions/execution-recorder.js';
import { ReplayBody, ReplayView } from './replays.dto.js';
import { ReplaysService } from './replays.service.js';

@ApiTags('tool-metrics')
@Scopes('tools:admin')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/tool-metrics/executions')
@UseInterceptors(UpToDateInterceptor)
export class ReplaysController {
  constructor(private readonly service: ReplaysService) {}

  @Post(':id/replay')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Run an execution once more',
    description:
      'With the input that was captured or another one, on the tool as it is or on an earlier revision: through the door, as a trial (`test`, `metadata.replayOf`), which spends no budget and feeds neither grade nor circuit. It really runs: of a tool that changes the world it changes it again. The answer holds both sides.',
  })
  @ApiOkResponse({ type: ReplayView })
  @ApiProblems(
    ...(['not_found', 'invalid_input', 'payload_too_large', 'queue_full', 'tool_unavailable'] as const),
    ...(['recorder_full', 'shutting_down', 'conflict'] as const),
  )
  replayExecution(
    @Param('id') id: string,
    @Body() body: ReplayBody,
    @Req() request: FastifyRequest,
  ): Promise<ReplayView> {
    return this.service.replay(id, body, request);
  }
}
