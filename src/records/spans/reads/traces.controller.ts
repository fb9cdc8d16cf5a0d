import * as queries from './trace-queries.dto.js';
import * as views from './trace-views.dto.js';
import { Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { AuditedRead } from '../../../auth/audit/audit.interceptor.js';
import { CurrentProject } from '../../../auth/principal.decorator.js';
import { ApiProblems } from '../../../rest/api-problems.decorator.js';
import { Problem } from '../../../common/errors.js';
import { ReadsTraces } from './reads-traces.decorator.js';
import type { Listed, SpanRead } from './reads.types.js';
import { TraceReads } from './trace-reads.js';

/** In a thread of its own; a skeleton gets five times smaller. */
const gzipped = promisify(gzip);
/** Ids repeat nothing: to look for what they have in common makes them larger. */
const ofIds = { strategy: constants.Z_FILTERED };

/** One trace, however large: its outline, and parts of it. */
@ReadsTraces('api/v1/traces')
export class TracesController {
  constructor(private readonly reads: TraceReads) {}

  @Get('find')
  @ApiOperation({
    summary: 'What an id is the id of',
    description:
      'A trace, a run, a thread or a span, or several of them; each with the first span that has it.',
  })
  @ApiOkResponse({ type: views.FoundIdsView })
  async findById(
    @CurrentProject() project: string,
    @Query() { id }: queries.FindQuery,
  ): Promise<views.FoundIdsView> {
    return { data: await this.reads.byId(project, id) };
  }

  @Get(':id/skeleton')
  @ApiOperation({
    summary: 'All spans of a trace in columns, without what they carried',
    description: 'By start, the first 50,000: what a tree or a time line of them needs. Small in gzip.',
  })
  @ApiOkResponse({ type: views.SkeletonView })
  @ApiProblems('not_found')
  async getTraceSkeleton(
    @CurrentProject() project: string,
    @Param() { id }: queries.TraceParams,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const skeleton = await this.reads.skeleton({ project, traceIds: [id] });
    if (skeleton === undefined) throw unknownTrace(id);
    void reply.headers({ 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding' });
    const json = Buffer.from(skeleton);
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return json;
    void reply.header('content-encoding', 'gzip');
    return gzipped(json, ofIds);
  }

  @Get(':id/window')
  @AuditedRead()
  @ApiOperation({
    summary: 'Spans of a trace around one of them, or that run in a span of time',
    description: 'By start. `offset` and `total` count among the spans of the trace, or of the span of time.',
  })
  @ApiOkResponse({ type: views.SpanListView })
  @ApiProblems('not_found')
  async listTraceWindow(
    @CurrentProject() project: string,
    @Param() { id }: queries.TraceParams,
    @Query() query: queries.WindowQuery,
  ): Promise<Listed<SpanRead>> {
    const { span_id: spanId, start_time: finishFromUs, end_time: endUs, limit } = query;
    const trace = { project, traceIds: [id] };
    if (spanId === undefined) {
      const times = {
        ...(finishFromUs !== undefined && { finishFromUs }),
        ...(endUs !== undefined && { endUs }),
      };
      return this.reads.spans({ ...trace, ...times }, { limit, offset: 0 });
    }
    const place = await this.reads.place(trace, spanId);
    if (place === undefined)
      throw new Problem(
        'not_found',
        `There is no span ${JSON.stringify(spanId)} in the trace ${JSON.stringify(id)}`,
      );
    return this.reads.spans(trace, { limit, offset: Math.max(0, place - Math.floor(limit / 2)) });
  }
}

const unknownTrace = (id: string): Problem =>
  new Problem('not_found', `There is no trace ${JSON.stringify(id)}`);
