import { Body, Delete, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { AuditedRead } from '../../../web/auth/audit/audit.interceptor.js';
import { CurrentProject } from '../../../web/auth/principal.decorator.js';
import { Scopes } from '../../../web/auth/scopes.decorator.js';
import { Csv } from '../../../web/rest/csv.interceptor.js';
import { Problem } from '../../../base/common/errors.js';
import { messagesOf } from '../ingest/span-messages.js';
import { spanContentsOf } from '../ingest/span-texts.js';
import { ReadsTraces } from './project-routes.decorator.js';
import { Answers } from '../../../web/rest/answers.decorator.js';
import { comparisonOf } from './summary.js';
import { groupingOf, groupsOf, oneGroup, rangeOf, spansOf, withoutUndefined } from './trace-filters.js';
import * as queries from './trace-queries.dto.js';
import { TraceReads } from './trace-reads.js';
import * as views from './trace-views.dto.js';

const maxBottlenecks = 20;
/** Max bytes of attributes in all groups of a batch. */
const maxBatchBytes = 16_777_216;
const executionsStay = 'Deletes spans that were sent. The executions of this server stay.';
/** Compresses in another thread. A skeleton gets five times smaller. */
const gzipped = promisify(gzip);
/** A strategy that searches few repetitions, because the ids in a skeleton have none and would get larger. */
const forIds = { strategy: constants.Z_FILTERED };

/** Routes that read spans and groups of spans. Query parameters are in snake case; camel case is accepted, too. */
@ReadsTraces('api/v1')
export class TracesController {
  constructor(private readonly reads: TraceReads) {}

  @Get('spans')
  @AuditedRead()
  @Answers(views.SpanListView, 'Spans that match all filters, by start', 'With their attributes.')
  async listSpans(@CurrentProject() project: string, @Query() query: queries.ListSpansQuery) {
    const { limit, offset, order } = query;
    const page = { limit, offset, newestFirst: order === 'desc' };
    return withTexts(await this.reads.spans(spansOf(project, query), page), query);
  }

  @Get('runs')
  @Answers(
    views.RunListView,
    'Runs with a matching span, the newest first',
    'With figures of all their spans. Each model call counts once.',
  )
  @Csv(views.RunView)
  listRuns(@CurrentProject() project: string, @Query() query: queries.ListRunsQuery) {
    return this.reads.runs(groupsOf(project, query), query);
  }

  @Get('runs/:id')
  @AuditedRead()
  @Answers(views.SpanListView, 'The spans of a run', 'By start, with their attributes.')
  listRunSpans(
    @CurrentProject() project: string,
    @Param() { id }: queries.RunParams,
    @Query() query: queries.RunSpansQuery,
  ) {
    return this.reads.spans({ project, runIds: [id] }, query);
  }

  @Get('runs/:id/details')
  @Answers(views.RunDetailsView, 'One run with its figures', '`data` is null for a run without spans.')
  async getRunDetails(@CurrentProject() project: string, @Param() { id }: queries.RunParams) {
    const { data } = await this.reads.runs({ spans: { project, runIds: [id] } }, { limit: 1, offset: 0 });
    return { data: data[0] ?? null };
  }

  @Get('runs/:id/bottlenecks')
  @Answers(
    views.BottlenecksView,
    'Critical path of a run',
    'The spans for which the run waited, with their own time and its share of the wall time.',
    'not_found',
  )
  async listBottlenecks(@CurrentProject() project: string, @Param() { id }: queries.RunParams) {
    const found = await this.reads.bottlenecks({ project, runIds: [id] });
    if (!found) throw notFound('run', id);
    return { run_id: id, total_ms: found.total_ms, data: found.data.slice(0, maxBottlenecks) };
  }

  @Delete('runs/:id')
  @Scopes('admin')
  @Answers(views.DeletedSpansView, 'Delete the spans of a run', executionsStay)
  async deleteRun(@CurrentProject() project: string, @Param() { id }: queries.RunParams) {
    return { deleted: await this.reads.delete({ project, runIds: [id] }) };
  }

  @Delete('threads/:id')
  @Scopes('admin')
  @Answers(views.DeletedSpansView, 'Delete the spans of a thread', executionsStay)
  async deleteThread(@CurrentProject() project: string, @Param() { id }: queries.ThreadParams) {
    return { deleted: await this.reads.delete({ project, threadIds: [id] }) };
  }

  @Get('group')
  @Answers(
    views.GroupListView,
    'Figures of spans by time, thread or run, the newest first',
    'A thread or run is listed with all its spans if one of them matches, a bucket of time with the spans that match.',
  )
  @Csv(views.GroupView)
  listGroups(@CurrentProject() project: string, @Query() query: queries.ListGroupsQuery) {
    const grouping = groupingOf(query.group_by, query.bucket_size);
    return this.reads.groups(grouping, groupsOf(project, query), query);
  }

  @Get('group/spans')
  @AuditedRead()
  @Answers(views.SpanListView, 'The spans of one group', 'By start, with their attributes.')
  listGroupSpans(@CurrentProject() project: string, @Query() query: queries.GroupSpansQuery) {
    const { group_by: groupBy, bucket_size: bucketSize } = query;
    const { thread_id: threadId, run_id: runId, time_bucket: timeBucket } = query;
    const names = { threadId: 'thread_id', runId: 'run_id', timeBucket: 'time_bucket' } as const;
    const group = withoutUndefined<queries.GroupBody>({ groupBy, bucketSize, threadId, runId, timeBucket });
    const { filter } = oneGroup(project, group, query.labels, (member) => `/${names[member]}`);
    return this.reads.spans(filter, query);
  }

  @Post('group/batch-spans')
  @AuditedRead()
  @HttpCode(200)
  @Answers(views.BatchSpansView, 'The spans of several groups', 'A page of each, by start.')
  @ApiExtraModels(views.SpansOfGroupView)
  async listBatchSpans(@CurrentProject() project: string, @Body() body: queries.BatchSpansBody) {
    const { groups, spansPerGroup: limit = 100, labels } = body;
    const named = groups.map((group, index) =>
      oneGroup(project, group, labels, (member) => `/groups/${index}/${member}`),
    );
    const data: Record<string, views.SpansOfGroupView> = {};
    // One after the other, so that a batch of a hundred groups uses one connection.
    for (const { name, filter } of named) {
      const page = { limit, offset: 0, maxBytes: Math.floor(maxBatchBytes / named.length) };
      const { data: spans, pagination } = await this.reads.spans(filter, page);
      data[name] = { spans, pagination };
    }
    return { data };
  }

  @Get('labels')
  @Answers(views.LabelsView, 'Labels of spans, the most frequent first', 'By default of all threads.')
  listLabels(@CurrentProject() project: string, @Query() query: queries.LabelsQuery) {
    const { thread_id: thread, period, limit } = query;
    const filter = { ...spansOf(project, { period }), ...(thread && { threadIds: [thread] }) };
    return this.reads.labels(filter, limit);
  }

  @Get('stats')
  @Answers(
    views.StatsView,
    'Calls, errors, cost, tokens and latency of a period',
    'By default of the last day.',
  )
  async getTraceStats(@CurrentProject() project: string, @Query() query: queries.StatsQuery) {
    const { startUs, endUs } = rangeOf(query);
    const [figures] = await this.reads.figures({ ...spansOf(project, query), startUs, endUs });
    const { bucket: _, ...total } = figures as views.BucketView;
    return { ...total, start_time_us: startUs, end_time_us: endUs };
  }

  @Get('stats/compare')
  @Answers(
    views.RunComparisonView,
    'Compare two runs',
    'The summary of each, and the differences of their figures.',
    'not_found',
  )
  @ApiExtraModels(views.DifferenceView)
  async compareRuns(
    @CurrentProject() project: string,
    @Query() query: queries.CompareQuery,
  ): Promise<views.RunComparisonView> {
    const summaryOf = async (id: string) => {
      const summary = await this.reads.summary({ project, runIds: [id] });
      if (summary.summary.total_spans === 0) throw notFound('run', id);
      return summary;
    };
    // One after the other, because a summary needs much memory of the database.
    const a = await summaryOf(query.a);
    return comparisonOf(a, await summaryOf(query.b));
  }

  @Get('metrics/timeseries')
  @Answers(
    views.TimeseriesView,
    'Calls, errors, cost, tokens and latency by bucket of time',
    'By default of the last day, by the hour.',
  )
  async listTimeseries(@CurrentProject() project: string, @Query() query: queries.TimeseriesQuery) {
    const filter = { ...spansOf(project, query), ...rangeOf(query) };
    return { bucket_size: query.bucket_size, data: await this.reads.figures(filter, query.bucket_size) };
  }

  @Get('traces/find')
  @Answers(
    views.FoundIdsView,
    'Find what an id belongs to',
    'A trace, run, thread, span or execution, or several of them, each with the first span that has the id.',
  )
  async findById(@CurrentProject() project: string, @Query() { id }: queries.FindQuery) {
    return { data: await this.reads.byId(project, id) };
  }

  @Get('traces/:id/skeleton')
  @Answers(
    views.SkeletonView,
    'All spans of a trace in columns, without attributes',
    'What a tree or a time line needs: the first 50,000 spans by start. Small with gzip.',
    'not_found',
  )
  async getTraceSkeleton(
    @CurrentProject() project: string,
    @Param() { id }: queries.TraceParams,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const skeleton = await this.reads.skeleton({ project, traceIds: [id] });
    if (skeleton === undefined) throw notFound('trace', id);
    void reply.headers({ 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding' });
    const json = Buffer.from(skeleton);
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return json;
    void reply.header('content-encoding', 'gzip');
    return gzipped(json, forIds);
  }

  @Get('traces/:id/window')
  @AuditedRead()
  @Answers(
    views.SpanListView,
    'Spans of a trace around one of them, or in a range of time',
    'By start. `offset` and `total` refer to all spans of the trace, or of the range.',
    'not_found',
  )
  async listTraceWindow(
    @CurrentProject() project: string,
    @Param() { id }: queries.TraceParams,
    @Query() query: queries.WindowQuery,
  ) {
    const { span_id: spanId, start_time: finishFromUs, end_time: endUs, limit } = query;
    const trace = { project, traceIds: [id] };
    if (spanId === undefined) {
      const filter = withoutUndefined({ ...trace, finishFromUs, endUs });
      return withTexts(await this.reads.spans(filter, { limit, offset: 0 }), query);
    }
    const position = await this.reads.position(trace, spanId);
    if (position === undefined) throw notFound('span', spanId, ` in the trace ${JSON.stringify(id)}`);
    const offset = Math.max(0, position - Math.floor(limit / 2));
    return withTexts(await this.reads.spans(trace, { limit, offset }), query);
  }
}

/** Adds texts and messages to spans, if the query asks for them. */
function withTexts(
  list: views.Listed<views.SpanView>,
  { texts = false, messages = false }: Pick<queries.WindowQuery, 'texts' | 'messages'>,
): views.Listed<views.SpanView> {
  if (!texts && !messages) return list;
  const data = list.data.map((span) => {
    const contents = spanContentsOf(span);
    const added = messages && { messages: messagesOf(span.kind, contents) };
    return { ...span, ...(texts && contents), ...added };
  });
  return { ...list, data };
}

const notFound = (what: string, id: string, where = ''): Problem =>
  new Problem('not_found', `There is no ${what} ${JSON.stringify(id)}${where}`);
