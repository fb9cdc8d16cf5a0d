import { Injectable } from '@nestjs/common';
import { Problem } from '../../../common/errors.js';
import { type Comparison, comparisonOf } from './comparison.js';
import type { GroupRow, Listed, SpanRead } from './reads.types.js';
import type { SpansSummary } from './summary.js';
import { groupingOf, groupsOf, oneGroup, spansOf, startOf } from './trace-filters.js';
import type {
  BatchSpansBody,
  CompareQuery,
  GroupSpansQuery,
  LabelsQuery,
  ListGroupsQuery,
  ListRunsQuery,
  ListSpansQuery,
  RunSpansQuery,
  StatsQuery,
  TimeseriesQuery,
} from './trace-queries.dto.js';
import type {
  BatchSpansView,
  BottlenecksView,
  GroupView,
  LabelsView,
  RunDetailsView,
  RunView,
  StatsView,
  TimeseriesView,
} from './trace-views.dto.js';
import { TraceReads } from './trace-reads.js';

const dayUs = 86_400_000_000;
const mostBottlenecks = 20;
/** Of what the spans of all groups of a batch carried. */
const mostBatchBytes = 16_777_216;

/** Spans, runs and groups as REST asks for them. */
@Injectable()
export class TraceReadsService {
  constructor(private readonly reads: TraceReads) {}

  spans(project: string, query: ListSpansQuery): Promise<Listed<SpanRead>> {
    const { limit, offset, order } = query;
    return this.reads.spans(spansOf(project, query), { limit, offset, newestFirst: order === 'desc' });
  }

  async runs(project: string, query: ListRunsQuery): Promise<Listed<RunView>> {
    const { data, pagination } = await this.reads.groups({ by: 'run' }, groupsOf(project, query), query);
    return { data: data.map(runOf), pagination };
  }

  runSpans(project: string, id: string, page: RunSpansQuery): Promise<Listed<SpanRead>> {
    return this.reads.spans({ project, runIds: [id] }, page);
  }

  /** @returns null for a run of which there is no span, as vLLora's clients expect */
  async runDetails(project: string, id: string): Promise<RunDetailsView> {
    const spans = { project, runIds: [id] };
    const { data } = await this.reads.groups({ by: 'run' }, { spans }, { limit: 1, offset: 0 });
    return { data: data[0] ? runOf(data[0]) : null };
  }

  /** @throws Problem `not_found` */
  async bottlenecks(project: string, id: string): Promise<BottlenecksView> {
    const found = await this.reads.bottlenecks({ project, runIds: [id] });
    if (!found) throw unknownRun(id);
    return { run_id: id, total_ms: found.total_ms, data: found.data.slice(0, mostBottlenecks) };
  }

  async groups(project: string, query: ListGroupsQuery): Promise<Listed<GroupView>> {
    const grouping = groupingOf(query.group_by, query.bucket_size);
    const { data, pagination } = await this.reads.groups(grouping, groupsOf(project, query), query);
    return { data: data.map((row) => groupOf(query.group_by, row)), pagination };
  }

  groupSpans(project: string, query: GroupSpansQuery): Promise<Listed<SpanRead>> {
    const names = { threadId: 'thread_id', runId: 'run_id', timeBucket: 'time_bucket' } as const;
    const group = {
      groupBy: query.group_by,
      timeBucket: query.time_bucket,
      bucketSize: query.bucket_size,
      threadId: query.thread_id,
      runId: query.run_id,
    };
    const { filter } = oneGroup(project, group, query.labels, (member) => `/${names[member]}`);
    return this.reads.spans(filter, query);
  }

  async batchSpans(
    project: string,
    { groups, spansPerGroup: limit = 100, labels }: BatchSpansBody,
  ): Promise<BatchSpansView> {
    const wanted = groups.map((group, at) =>
      oneGroup(project, group, labels, (member) => `/groups/${at}/${member}`),
    );
    const data: BatchSpansView['data'] = {};
    // One after the other: a page with a hundred groups takes one connection, not all of them.
    for (const { name, filter } of wanted) {
      const page = { limit, offset: 0, mostBytes: Math.floor(mostBatchBytes / wanted.length) };
      const { data: spans, pagination } = await this.reads.spans(filter, page);
      data[name] = { spans: spans, pagination };
    }
    return { data };
  }

  labels(project: string, { thread_id: thread, period, limit }: LabelsQuery): Promise<LabelsView> {
    return this.reads.labels(
      { ...spansOf(project, { period }), ...(thread && { threadIds: [thread] }) },
      limit,
    );
  }

  /** The figures of a period, the last day unless told otherwise. */
  async stats(project: string, query: StatsQuery): Promise<StatsView> {
    const { start, end } = rangeOf(query);
    const [figures] = await this.reads.figures({ ...spansOf(project, query), startUs: start, endUs: end });
    const none = {
      spans: 0,
      calls: 0,
      errors: 0,
      cost: 0,
      input_tokens: 0,
      output_tokens: 0,
      p50_ms: null,
      p95_ms: null,
    };
    const { bucket: _, ...figured } = figures ?? { bucket: null, ...none };
    return { ...figured, start_time_us: start, end_time_us: end };
  }

  async timeseries(project: string, query: TimeseriesQuery): Promise<TimeseriesView> {
    const { start, end } = rangeOf(query);
    const filter = { ...spansOf(project, query), startUs: start, endUs: end };
    const rows = await this.reads.figures(filter, query.bucket_size);
    return { bucket_size: query.bucket_size, data: rows.map((row) => ({ ...row, bucket: row.bucket ?? 0 })) };
  }

  /** @throws Problem `not_found` */
  async compare(project: string, runs: CompareQuery): Promise<Comparison> {
    const summaryOf = async (id: string): Promise<SpansSummary> => {
      const summary = await this.reads.summary({ project, runIds: [id] });
      if (summary.summary.total_spans === 0) throw unknownRun(id);
      return summary;
    };
    // One after the other: a summary takes much of one connection's memory.
    const a = await summaryOf(runs.a);
    return comparisonOf(a, await summaryOf(runs.b));
  }

  async deleteRun(project: string, id: string): Promise<{ deleted: number }> {
    return { deleted: await this.reads.delete({ project, runIds: [id] }) };
  }

  async deleteThread(project: string, id: string): Promise<{ deleted: number }> {
    return { deleted: await this.reads.delete({ project, threadIds: [id] }) };
  }
}

const unknownRun = (id: string): Problem => new Problem('not_found', `There is no run ${JSON.stringify(id)}`);

function rangeOf({ period, start_time, end_time }: StatsQuery): { start: number; end: number } {
  const end = end_time ?? Date.now() * 1_000;
  return { start: start_time ?? startOf(period) ?? end - dayUs, end };
}

/** A run as vLLora's clients know it. */
export function runOf({ key, run_ids: _, root_span_ids, ...figures }: GroupRow): RunView {
  return { run_id: key, ...figures, root_span_ids: root_span_ids ?? [] };
}

export function groupOf(by: GroupView['group_by'], { key, root_span_ids, ...figures }: GroupRow): GroupView {
  const group_key = by === 'time' ? { time_bucket: Number(key) } : { [`${by}_id`]: key };
  return { group_by: by, group_key, ...figures, root_span_ids: root_span_ids ?? [] };
}
