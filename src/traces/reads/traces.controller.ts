import { Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AuditedRead } from '../../auth/audit/audited.decorator.js';
import { CurrentProject } from '../../auth/project.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import { ReadsTraces } from './reads-traces.decorator.js';
import type { Listed, SpanRead } from './reads.types.js';
import * as queries from './trace-queries.shapes.js';
import * as views from './trace-views.shapes.js';
import { TracesService } from './traces.service.js';

@ReadsTraces('api/v1/traces')
export class TracesController {
  constructor(private readonly service: TracesService) {}

  @Get('find')
  @ApiOperation({
    summary: 'What an id is the id of',
    description:
      'A trace, a run, a thread or a span, or several of them; each with the first span that has it.',
  })
  @ApiOkResponse({ type: views.FoundIdsView })
  findById(
    @CurrentProject() project: string,
    @Query() { id }: queries.FindQuery,
  ): Promise<views.FoundIdsView> {
    return this.service.find(project, id);
  }

  @Get(':id/skeleton')
  @ApiOperation({
    summary: 'All spans of a trace in columns, without what they carried',
    description: 'By start, the first 50,000: what a tree or a time line of them needs. Small in gzip.',
  })
  @ApiOkResponse({ type: views.SkeletonView })
  @ApiProblems('not_found')
  getTraceSkeleton(
    @CurrentProject() project: string,
    @Param() { id }: queries.TraceParams,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return this.service.skeleton(project, id, request, reply);
  }

  @Get(':id/window')
  @AuditedRead()
  @ApiOperation({
    summary: 'Spans of a trace around one of them, or that run in a span of time',
    description: 'By start. `offset` and `total` count among the spans of the trace, or of the span of time.',
  })
  @ApiOkResponse({ type: views.SpanListView })
  @ApiProblems('not_found')
  listTraceWindow(
    @CurrentProject() project: string,
    @Param() { id }: queries.TraceParams,
    @Query() query: queries.WindowQuery,
  ): Promise<Listed<SpanRead>> {
    return this.service.window(project, id, query);
  }
}
