import { Controller, Delete, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiProblems } from '../common/api-problems.decorator.js';
import type { Page } from '../common/page.js';
import { ToolMetric } from './tool-metric.entity.js';
import {
  CleanupBody,
  CleanupQuery,
  ErrorsQuery,
  ExecutionPage,
  ExecutionsQuery,
  PeriodQuery,
  SlowQuery,
  ToolNamesPage,
  ToolParams,
  ToolStatsBody,
} from './tool-metrics.dto.js';
import { ToolMetricsService } from './tool-metrics.service.js';

@ApiTags('tool-metrics')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/tool-metrics')
export class ToolMetricsController {
  constructor(private readonly service: ToolMetricsService) {}

  @Get('stats/:tool')
  @ApiOperation({ summary: "A tool's statistics over a period; trials do not count" })
  @ApiOkResponse({ type: ToolStatsBody })
  stats(@Param() { tool }: ToolParams, @Query() query: PeriodQuery): Promise<ToolStatsBody> {
    return this.service.stats(tool, query);
  }

  @Get('errors')
  @ApiOperation({ summary: 'The newest errors and timeouts' })
  @ApiOkResponse({ type: ExecutionPage })
  errors(@Query() query: ErrorsQuery): Promise<Page<ToolMetric>> {
    return this.service.errors(query);
  }

  @Get('slow')
  @ApiOperation({ summary: 'Executions that took at least the threshold, slowest first' })
  @ApiOkResponse({ type: ExecutionPage })
  slow(@Query() query: SlowQuery): Promise<Page<ToolMetric>> {
    return this.service.slow(query);
  }

  @Get('executions')
  @ApiOperation({ summary: 'Executions, newest first' })
  @ApiOkResponse({ type: ExecutionPage })
  executions(@Query() query: ExecutionsQuery): Promise<Page<ToolMetric>> {
    return this.service.executions(query);
  }

  @Get('executions/:id')
  @ApiOperation({ summary: 'One execution' })
  @ApiOkResponse({ type: ToolMetric })
  @ApiProblems('not_found')
  execution(@Param('id') id: string): Promise<ToolMetric> {
    return this.service.execution(id);
  }

  @Get('tools')
  @ApiOperation({ summary: 'The names of all tools with executions' })
  @ApiOkResponse({ type: ToolNamesPage })
  tools(): Promise<Page<string>> {
    return this.service.tools();
  }

  @Delete()
  @ApiOperation({ summary: 'Delete old metrics' })
  @ApiOkResponse({ type: CleanupBody })
  cleanup(@Query() query: CleanupQuery): Promise<{ deleted: number }> {
    return this.service.cleanup(query);
  }
}
