import { Get, Param, Query, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { CurrentReader, type Principal } from '../../web/auth/principal.decorator.js';
import { ApiRoutes } from '../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { PageQuery, ToolParams } from '../../web/rest/dto.js';
import { UpToDateInterceptor } from '../../records/executions/execution-recorder.js';
import * as dto from './tool-health.dto.js';
import { GradeHistory } from './grade-history.js';
import { ToolHealthService } from './tool-health.service.js';

@ApiRoutes('api/v1/tool-health', 'tool-health', 'metrics:read')
@UseInterceptors(UpToDateInterceptor)
export class ToolHealthController {
  constructor(
    private readonly health: ToolHealthService,
    private readonly grades: GradeHistory,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'Health of all tools',
    description:
      "Each tool's report over the period, and how many of them are healthy, degraded, unhealthy or unknown.",
  })
  @ApiOkResponse({ type: dto.SystemHealthView })
  getHealthOfAllTools(
    @Query() { periodHours }: dto.HealthPeriodQuery,
    @CurrentReader('figures') caller: Principal,
  ) {
    return this.health.within(caller).checkAllToolsHealth(periodHours);
  }

  @Get('dashboard')
  @ApiOperation({
    summary: 'What needs attention, and the slowest executions',
    description: 'Default: of the last hour. The slow executions are those of all time.',
  })
  @ApiOkResponse({ type: dto.DashboardView })
  getDashboard(@Query() { periodHours }: dto.HealthPeriodQuery, @CurrentReader('figures') caller: Principal) {
    return this.health.within(caller).getDashboardSummary(periodHours);
  }

  @Get('summary')
  @ApiOperation({
    summary: 'Health of all tools by name',
    description: 'The short form: status, calls and rates of each tool.',
  })
  @ApiOkResponse({ type: dto.HealthSummaryView })
  getHealthSummary(
    @Query() { periodHours }: dto.HealthPeriodQuery,
    @CurrentReader('figures') caller: Principal,
  ) {
    return this.health.within(caller).getHealthSummary(periodHours);
  }

  @Get(':tool')
  @ApiOperation({
    summary: 'Health of one tool',
    description: 'An unknown tool has the status `unknown`.',
  })
  @ApiOkResponse({ type: dto.ToolHealthNowView })
  getToolHealth(
    @Param() { tool }: ToolParams,
    @Query() { periodHours }: dto.HealthPeriodQuery,
    @CurrentReader('figures') caller: Principal,
  ) {
    return this.health.within(caller).reportTool(tool, periodHours);
  }

  @Get(':tool/history')
  @ApiOperation({
    summary: "How a tool's grade changed",
    description:
      'Its grade of the last hour, computed every minute and stored with the retention of metrics.',
  })
  @ApiOkResponse({ type: dto.GradeChangePageView })
  listGradeChanges(@Param() { tool }: ToolParams, @Query() query: PageQuery) {
    return this.grades.page(tool, query);
  }

  @Get(':tool/error-patterns')
  @ApiOperation({
    summary: 'How a tool fails: its error types by frequency',
    description:
      'All failures of the period. Messages that differ only in numbers, ids or paths are one group.',
  })
  @ApiOkResponse({ type: dto.ErrorPatternsView })
  getErrorPatterns(
    @Param() { tool }: ToolParams,
    @Query() { limit, periodHours, ...range }: dto.ErrorPatternsQuery,
    @CurrentReader('figures') caller: Principal,
  ) {
    return this.health.within(caller).getErrorPatterns(tool, limit, periodHours, range);
  }

  @Get(':tool/info')
  @ApiOperation({
    summary: 'Counts and last results of a tool that was called in the last 24 hours',
    description: 'A tool without calls in that time is not found.',
  })
  @ApiOkResponse({ type: dto.ToolHealthInfoView })
  @ApiProblems('not_found')
  getToolHealthInfo(@Param() { tool }: ToolParams, @CurrentReader('figures') caller: Principal) {
    return this.health.within(caller).requireToolHealth(tool);
  }
}
