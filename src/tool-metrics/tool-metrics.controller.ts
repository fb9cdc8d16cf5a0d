import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiProblems } from '../common/api-problems.decorator.js';
import type { Page } from '../common/page.js';
import { Execution } from './execution.js';
import {
  CleanupBody,
  CleanupQuery,
  type DuplicatesBody,
  DuplicatesPage,
  DuplicatesQuery,
  ErrorsQuery,
  ExecutionPage,
  ExecutionsQuery,
  PeriodQuery,
  SemanticFailureRequest,
  SlowQuery,
  ToolNamesPage,
  ToolParams,
  ToolStatsBody,
} from './tool-metrics.dto.js';
import { ToolMetricsService } from './tool-metrics.service.js';
import { UpToDateInterceptor } from './up-to-date.interceptor.js';

@ApiTags('tool-metrics')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/tool-metrics')
@UseInterceptors(UpToDateInterceptor)
export class ToolMetricsController {
  constructor(private readonly service: ToolMetricsService) {}

  @Get('stats/:tool')
  @ApiOperation({
    summary: "A tool's statistics over a period; trials do not count",
    description: 'Counts are exact for any period; percentiles are within 2 %.',
    operationId: 'getToolStats',
  })
  @ApiOkResponse({ type: ToolStatsBody })
  stats(@Param() { tool }: ToolParams, @Query() query: PeriodQuery): Promise<ToolStatsBody> {
    return this.service.stats(tool, query);
  }

  @Get('errors')
  @ApiOperation({
    summary: 'The newest errors and timeouts',
    description: "Of one tool or of all of them, with the error's type and message.",
    operationId: 'listErrors',
  })
  @ApiOkResponse({ type: ExecutionPage })
  errors(@Query() query: ErrorsQuery): Promise<Page<Execution>> {
    return this.service.errors(query);
  }

  @Get('slow')
  @ApiOperation({
    summary: 'Executions that took at least the threshold, slowest first',
    description: 'The threshold is inclusive, in milliseconds.',
    operationId: 'listSlowExecutions',
  })
  @ApiOkResponse({ type: ExecutionPage })
  slow(@Query() query: SlowQuery): Promise<Page<Execution>> {
    return this.service.slow(query);
  }

  @Get('executions')
  @ApiOperation({
    summary: 'Executions that every filter lets through, newest first',
    description: '`nextCursor` goes on where a page ended, whatever is recorded meanwhile.',
    operationId: 'listExecutions',
  })
  @ApiOkResponse({ type: ExecutionPage })
  executions(@Query() query: ExecutionsQuery): Promise<Page<Execution>> {
    return this.service.executions(query);
  }

  @Get('executions/:id')
  @ApiOperation({
    summary: 'One execution',
    description:
      'With its forensics in `metadata`: attempts, time in the queue, exit code or signal, end of stderr, revision.',
    operationId: 'getExecution',
  })
  @ApiOkResponse({ type: Execution })
  @ApiProblems('not_found')
  execution(@Param('id') id: string): Promise<Execution> {
    return this.service.execution(id);
  }

  @Post('executions/:id/semantic-failure')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Mark an execution as one that answered wrongly; its status stays',
    description:
      'For whoever finds out later that an answer that looked right was not: health shows such failures as a figure of their own.',
    operationId: 'markSemanticFailure',
  })
  @ApiNoContentResponse()
  @ApiProblems('not_found')
  markSemanticFailure(@Param('id') id: string, @Body() { reason }: SemanticFailureRequest): Promise<void> {
    return this.service.markSemanticFailure(id, reason);
  }

  @Delete('executions/:id/semantic-failure')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Take such a mark back',
    description: 'An execution without a mark stays as it is.',
    operationId: 'unmarkSemanticFailure',
  })
  @ApiNoContentResponse()
  @ApiProblems('not_found')
  unmarkSemanticFailure(@Param('id') id: string): Promise<void> {
    return this.service.markSemanticFailure(id, null);
  }

  @Get('duplicates')
  @ApiOperation({
    summary: 'How often tools were called again with the same input; most repetitions first',
    description: 'By tool and investigation; inputs are compared by the hash of their canonical JSON.',
    operationId: 'listDuplicates',
  })
  @ApiOkResponse({ type: DuplicatesPage })
  duplicates(@Query() query: DuplicatesQuery): Promise<Page<DuplicatesBody>> {
    return this.service.duplicates(query);
  }

  @Get('tools')
  @ApiOperation({
    summary: 'The names of all tools with executions',
    description: 'Also of tools that are no longer registered, as long as their records are kept.',
    operationId: 'listRecordedTools',
  })
  @ApiOkResponse({ type: ToolNamesPage })
  tools(): Promise<Page<string>> {
    return this.service.tools();
  }

  @Delete()
  @ApiOperation({
    summary: 'Delete old metrics',
    description: 'Drops whole days (UTC); answers how many executions were deleted.',
    operationId: 'deleteOldMetrics',
  })
  @ApiOkResponse({ type: CleanupBody })
  cleanup(@Query() query: CleanupQuery): Promise<{ deleted: number }> {
    return this.service.cleanup(query);
  }
}
