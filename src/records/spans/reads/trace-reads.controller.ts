import * as queries from './trace-queries.dto.js';
import * as views from './trace-views.dto.js';
import { Body, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { AuditedRead } from '../../../auth/audit/audit.interceptor.js';
import { CurrentProject } from '../../../auth/principal.decorator.js';
import { Scopes } from '../../../auth/scopes.decorator.js';
import { ApiProblems } from '../../../rest/api-problems.decorator.js';
import { ReadsTraces } from './reads-traces.decorator.js';
import type { Listed, SpanRead } from './reads.types.js';
import { TraceReadsService } from './trace-reads.service.js';

/** Parameters are in snake case and may be written in camel case as well. */
@ReadsTraces('api/v1')
export class TraceReadsController {
  constructor(private readonly service: TraceReadsService) {}

  @Get('spans')
  @AuditedRead()
  @ApiOperation({
    summary: 'Spans that every filter lets through, by start',
    description: 'With what they carried.',
  })
  @ApiOkResponse({ type: views.SpanListView })
  listSpans(
    @CurrentProject() project: string,
    @Query() query: queries.ListSpansQuery,
  ): Promise<Listed<SpanRead>> {
    return this.service.spans(project, query);
  }

  @Get('runs')
  @ApiOperation({
    summary: 'Runs of which a span matches, the newest first',
    description: 'With the figures of all their spans; each model call counts once.',
  })
  @ApiOkResponse({ type: views.RunListView })
  listRuns(
    @CurrentProject() project: string,
    @Query() query: queries.ListRunsQuery,
  ): Promise<Listed<views.RunView>> {
    return this.service.runs(project, query);
  }

  @Get('runs/:id')
  @AuditedRead()
  @ApiOperation({ summary: 'The spans of a run', description: 'By start, with what they carried.' })
  @ApiOkResponse({ type: views.SpanListView })
  listRunSpans(
    @CurrentProject() project: string,
    @Param() { id }: queries.RunParams,
    @Query() query: queries.RunSpansQuery,
  ): Promise<Listed<SpanRead>> {
    return this.service.runSpans(project, id, query);
  }

  @Get('runs/:id/details')
  @ApiOperation({
    summary: 'One run with its figures',
    description: '`data` is null for a run without spans.',
  })
  @ApiOkResponse({ type: views.RunDetailsView })
  getRunDetails(
    @CurrentProject() project: string,
    @Param() { id }: queries.RunParams,
  ): Promise<views.RunDetailsView> {
    return this.service.runDetails(project, id);
  }

  @Get('runs/:id/bottlenecks')
  @ApiOperation({
    summary: 'What a run waited for',
    description: 'Spans on its critical path with their own time, and its share of the wall time.',
  })
  @ApiOkResponse({ type: views.BottlenecksView })
  @ApiProblems('not_found')
  listBottlenecks(
    @CurrentProject() project: string,
    @Param() { id }: queries.RunParams,
  ): Promise<views.BottlenecksView> {
    return this.service.bottlenecks(project, id);
  }

  @Delete('runs/:id')
  @Scopes('admin')
  @ApiOperation({
    summary: 'Delete the spans of a run',
    description: 'Spans that were sent; the executions of this server stay among its metrics.',
  })
  @ApiOkResponse({ type: views.DeletedSpansView })
  deleteRun(
    @CurrentProject() project: string,
    @Param() { id }: queries.RunParams,
  ): Promise<views.DeletedSpansView> {
    return this.service.deleteRun(project, id);
  }

  @Delete('threads/:id')
  @Scopes('admin')
  @ApiOperation({
    summary: 'Delete the spans of a thread',
    description: 'Spans that were sent; the executions of this server stay among its metrics.',
  })
  @ApiOkResponse({ type: views.DeletedSpansView })
  deleteThread(
    @CurrentProject() project: string,
    @Param() { id }: queries.ThreadParams,
  ): Promise<views.DeletedSpansView> {
    return this.service.deleteThread(project, id);
  }

  @Get('group')
  @ApiOperation({
    summary: 'Figures of spans by time, thread or run, the newest first',
    description:
      'A thread or a run comes with all its spans when one of them matches; a span of time with those that match.',
  })
  @ApiOkResponse({ type: views.GroupListView })
  listGroups(
    @CurrentProject() project: string,
    @Query() query: queries.ListGroupsQuery,
  ): Promise<Listed<views.GroupView>> {
    return this.service.groups(project, query);
  }

  @Get('group/spans')
  @AuditedRead()
  @ApiOperation({ summary: 'The spans of one group', description: 'By start, with what they carried.' })
  @ApiOkResponse({ type: views.SpanListView })
  listGroupSpans(
    @CurrentProject() project: string,
    @Query() query: queries.GroupSpansQuery,
  ): Promise<Listed<SpanRead>> {
    return this.service.groupSpans(project, query);
  }

  @Post('group/batch-spans')
  @AuditedRead()
  @HttpCode(200)
  @ApiOperation({ summary: 'The spans of several groups', description: 'A page of each, by start.' })
  @ApiOkResponse({ type: views.BatchSpansView })
  @ApiExtraModels(views.SpansOfGroupView)
  listBatchSpans(
    @CurrentProject() project: string,
    @Body() body: queries.BatchSpansBody,
  ): Promise<views.BatchSpansView> {
    return this.service.batchSpans(project, body);
  }

  @Get('labels')
  @ApiOperation({
    summary: 'Labels of spans, the commonest first',
    description: 'Of all threads when none is named.',
  })
  @ApiOkResponse({ type: views.LabelsView })
  listLabels(
    @CurrentProject() project: string,
    @Query() query: queries.LabelsQuery,
  ): Promise<views.LabelsView> {
    return this.service.labels(project, query);
  }

  @Get('stats')
  @ApiOperation({
    summary: 'Calls, errors, cost, tokens and latency of a period',
    description: 'The last day when nothing is said.',
  })
  @ApiOkResponse({ type: views.StatsView })
  getTraceStats(
    @CurrentProject() project: string,
    @Query() query: queries.StatsQuery,
  ): Promise<views.StatsView> {
    return this.service.stats(project, query);
  }

  @Get('stats/compare')
  @ApiOperation({
    summary: 'Two runs beside each other',
    description: 'The summary of each, and what changed from the first to the second.',
  })
  @ApiOkResponse({ type: views.RunComparisonView })
  @ApiExtraModels(views.DifferenceView)
  @ApiProblems('not_found')
  compareRuns(
    @CurrentProject() project: string,
    @Query() query: queries.CompareQuery,
  ): Promise<views.RunComparisonView> {
    return this.service.compare(project, query);
  }

  @Get('metrics/timeseries')
  @ApiOperation({
    summary: 'The same by span of time',
    description: 'The last day by the hour when nothing is said.',
  })
  @ApiOkResponse({ type: views.TimeseriesView })
  listTimeseries(
    @CurrentProject() project: string,
    @Query() query: queries.TimeseriesQuery,
  ): Promise<views.TimeseriesView> {
    return this.service.timeseries(project, query);
  }
}
