import { Body, Delete, Get, HttpCode, Param, Post, Query, Req, UseInterceptors } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AuditedRead } from '../../web/auth/audit/audit.interceptor.js';
import { CurrentReader, type Principal } from '../../web/auth/principal.decorator.js';
import { ApiRoutes, Scopes } from '../../web/auth/scopes.decorator.js';
import { Csv } from '../../web/rest/csv.interceptor.js';
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
  @ApiOperation({
    summary: "A tool's statistics over a period; test calls do not count",
    description: 'Counts are exact for any period; percentiles are within 2 %.',
  })
  @ApiOkResponse({ type: dto.ToolStatsView })
  getToolStats(
    @Param() { tool }: ToolParams,
    @Query() query: dto.PeriodQuery,
    @CurrentReader('figures') caller: Principal,
  ) {
    return this.service.stats(tool, query, caller);
  }

  @Get('series')
  @ApiOperation({
    summary: 'Calls, failures and durations over time; test calls do not count',
    description: 'For charts: one point for each interval of the period, of one tool or of all together.',
  })
  @ApiOkResponse({ type: dto.SeriesView })
  getSeries(@Query() query: dto.SeriesQuery, @CurrentReader('figures') caller: Principal) {
    return this.service.series(query, caller);
  }

  @Get('errors')
  @ApiOperation({
    summary: 'The newest errors and timeouts',
    description: "Of one tool or of all of them, with the error's type and message.",
  })
  @ApiOkResponse({ type: dto.ExecutionPageView })
  listErrors(@Query() query: dto.ErrorsQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.errors(query, caller);
  }

  @Get('slow')
  @ApiOperation({
    summary: 'Executions that took at least the threshold, slowest first',
    description: 'The threshold is inclusive, in milliseconds.',
  })
  @ApiOkResponse({ type: dto.ExecutionPageView })
  listSlowExecutions(@Query() query: dto.SlowQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.slow(query, caller);
  }

  @Get('executions')
  @ApiOperation({
    summary: 'Executions that match all filters, newest first',
    description: '`nextCursor` continues where a page ended, even if executions are recorded meanwhile.',
  })
  @ApiOkResponse({ type: dto.ExecutionPageView })
  @Csv(dto.ExecutionView)
  listExecutions(@Query() query: dto.ExecutionsQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.executions(query, caller);
  }

  @Get('executions/:id')
  @ApiOperation({
    summary: 'One execution',
    description:
      '`metadata` has the details: attempts, time in the queue, exit code or signal, end of stderr, revision.',
  })
  @ApiOkResponse({ type: dto.ExecutionView })
  @ApiProblems('not_found')
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
  @ApiOperation({
    summary: 'Repeated calls of tools with the same input; most repetitions first',
    description: 'By tool and investigation; inputs are compared by the hash of their canonical JSON.',
  })
  @ApiOkResponse({ type: dto.DuplicatesPageView })
  listDuplicates(@Query() query: dto.DuplicatesQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.duplicates(query, caller);
  }

  @Get('callers')
  @ApiOperation({
    summary: 'Calls, failures and refusals by caller; most failures first',
    description:
      'Test calls do not count. A server that is killed loses the refusals of the last ten seconds.',
  })
  @ApiOkResponse({ type: dto.CallersPageView })
  listCallers(@Query() query: dto.CallersQuery, @CurrentReader('rows') caller: Principal) {
    return this.service.callers(query, caller);
  }

  @Get('tools')
  @ApiOperation({
    summary: 'The names of all tools with executions',
    description: 'Includes tools that are no longer registered, as long as their records are stored.',
  })
  @ApiOkResponse({ type: dto.ToolNamesView })
  listRecordedTools() {
    return this.service.tools();
  }

  @Delete()
  @Scopes('tools:admin')
  @ApiOperation({
    summary: 'Delete old metrics',
    description: 'Drops whole days (UTC). Returns the number of deleted executions.',
  })
  @ApiOkResponse({ type: dto.CleanupView })
  deleteOldMetrics(@Query() query: dto.CleanupQuery): Promise<{ deleted: number }> {
    return this.service.cleanup(query);
  }

  @Get('executions/:id/payload')
  @Scopes('tools:admin')
  @AuditedRead()
  @ApiOperation({
    summary: 'Input and answer of an execution',
    description:
      "Stored for tools whose `capture` is `failures` or `all`, for CAPTURE_TTL_HOURS. Values of the tool's `env` are redacted.",
  })
  @ApiOkResponse({ type: dto.PayloadView })
  @ApiProblems('not_found')
  getExecutionPayload(@Param('id') id: string, @CurrentReader('rows') caller: Principal) {
    return this.service.payload(id, caller);
  }
}
