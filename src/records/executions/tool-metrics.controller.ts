import { Body, Delete, Get, HttpCode, Param, Post, Query, Req, UseInterceptors } from '@nestjs/common';
import { ApiNoContentResponse, ApiOperation } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AuditedRead } from '../../web/auth/audit/audit.interceptor.js';
import { CurrentReader, type Principal } from '../../web/auth/principal.decorator.js';
import { ApiRoutes, Scopes } from '../../web/auth/scopes.decorator.js';
import { Csv } from '../../web/rest/csv.interceptor.js';
import { Answers } from '../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import * as dto from './tool-metrics.dto.js';
import { ToolParams } from '../../web/rest/dto.js';
import { ToolMetricsService } from './tool-metrics.service.js';
import { UpToDateInterceptor } from './execution-recorder.js';

/** Executions, their statistics and their payloads. */
@ApiRoutes('api/v1/tool-metrics', 'tool-metrics', 'metrics:read')
@UseInterceptors(UpToDateInterceptor)
export class ToolMetricsController {
  constructor(private readonly service: ToolMetricsService) {}

  @Get('stats/:tool')
  @Answers(
    dto.ToolStatsView,
    "A tool's statistics over a period; test calls do not count",
    'Counts are exact for any period; percentiles are within 2 %.',
  )
  getToolStats(
    @Param() { tool }: ToolParams,
    @Query() query: dto.PeriodQuery,
    @CurrentReader('figures') caller: Principal,
  ) {
    return this.service.stats(tool, query, caller);
  }

  @Get('series')
  @Answers(
    dto.SeriesView,
    'Calls, failures and durations over time; test calls do not count',
    'For charts: one point for each interval of the period, of one tool or of all together.',
  )
  getSeries(@Query() query: dto.SeriesQuery, @CurrentReader('figures') caller: Principal) {
    return this.service.series(query, caller);
  }

  @Get('errors')
  @Answers(
    dto.ExecutionPageView,
    'The newest errors and timeouts',
    "Of one tool or of all of them, with the error's type and message.",
  )
  listErrors(@Query() query: dto.ErrorsQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.errors(query, caller);
  }

  @Get('slow')
  @Answers(
    dto.ExecutionPageView,
    'Executions that took at least the threshold, slowest first',
    'The threshold is inclusive, in milliseconds.',
  )
  listSlowExecutions(@Query() query: dto.SlowQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.slow(query, caller);
  }

  @Get('executions')
  @Answers(
    dto.ExecutionPageView,
    'Executions that match all filters, newest first',
    '`nextCursor` continues where a page ended, even if executions are recorded meanwhile.',
  )
  @Csv(dto.ExecutionView)
  listExecutions(@Query() query: dto.ExecutionsQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.executions(query, caller);
  }

  @Get('executions/:id')
  @Answers(
    dto.ExecutionView,
    'One execution',
    '`metadata` has the details: attempts, time in the queue, exit code or signal, end of stderr, revision.',
    'not_found',
  )
  getExecution(@Param('id') id: string, @CurrentReader('rows') caller: Principal) {
    return this.service.executionFor(id, caller);
  }

  @Post('executions/:id/semantic-failure')
  @Scopes('tools:admin')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Mark an execution whose answer was wrong; its status stays',
    description: 'For an answer that turned out to be wrong later. Health counts such failures separately.',
  })
  @ApiNoContentResponse()
  @ApiProblems('not_found')
  async markSemanticFailure(
    @Param('id') id: string,
    @Body() { reason }: dto.SemanticFailureBody,
    @CurrentReader('rows') caller: Principal,
    @Req() request: FastifyRequest,
  ) {
    request.project = await this.service.markSemanticFailure(id, reason, caller);
  }

  @Delete('executions/:id/semantic-failure')
  @Scopes('tools:admin')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Remove the mark of a wrong answer',
    description: 'Does nothing if the execution has no mark.',
  })
  @ApiNoContentResponse()
  @ApiProblems('not_found')
  async unmarkSemanticFailure(
    @Param('id') id: string,
    @CurrentReader('rows') caller: Principal,
    @Req() request: FastifyRequest,
  ) {
    request.project = await this.service.markSemanticFailure(id, null, caller);
  }

  @Get('duplicates')
  @Answers(
    dto.DuplicatesPageView,
    'Repeated calls of tools with the same input; most repetitions first',
    'By tool and investigation; inputs are compared by the hash of their canonical JSON.',
  )
  listDuplicates(@Query() query: dto.DuplicatesQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.duplicates(query, caller);
  }

  @Get('callers')
  @Answers(
    dto.CallersPageView,
    'Calls, failures and refusals by caller; most failures first',
    'Test calls do not count. A server that is killed loses the refusals of the last ten seconds.',
  )
  listCallers(@Query() query: dto.CallersQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.callers(query, caller);
  }

  @Get('tools')
  @Answers(
    dto.ToolNamesView,
    'The names of all tools with executions',
    'Includes tools that are no longer registered, as long as their records are stored.',
  )
  listRecordedTools() {
    return this.service.tools();
  }

  @Delete()
  @Scopes('tools:admin')
  @Answers(
    dto.CleanupView,
    'Delete old metrics',
    'Drops whole days (UTC). Returns the number of deleted executions.',
  )
  deleteOldMetrics(@Query() query: dto.CleanupQuery): Promise<{ deleted: number }> {
    return this.service.cleanup(query);
  }

  @Get('executions/:id/payload')
  @Scopes('tools:admin')
  @AuditedRead()
  @Answers(
    dto.PayloadView,
    'Input and answer of an execution',
    "Stored for tools whose `capture` is `failures` or `all`, for CAPTURE_TTL_HOURS. Values of the tool's `env` are redacted.",
    'not_found',
  )
  getExecutionPayload(@Param('id') id: string, @CurrentReader('rows') caller: Principal) {
    return this.service.payload(id, caller);
  }
}
