import { runKinds } from '../../records/spans/reads/span-filter.sql.js';
import { groupingOf, groupsOf, spansOf } from '../../records/spans/reads/trace-filters.js';
import {
  type LabelsQuery,
  type ListGroupsQuery,
  type ListRunsQuery,
  type ListSpansQuery,
  periods,
} from '../../records/spans/reads/trace-queries.dto.js';
import type { TraceReads } from '../../records/spans/reads/trace-reads.js';
import type { Listed, SpanView } from '../../records/spans/reads/trace-views.dto.js';
import { whole } from '../../web/contract/define-tool.js';
import type { Tool } from '../../web/contract/tool.js';
import { excerptsOf, fitted, withinBytes } from './small-answers.js';
import { ids, misuse, maxBytes, traceTool } from './trace-tool.js';

/** Input properties of a list. @param usual its limit by default */
const paging = (usual: number) => ({
  limit: whole(1, 1_000, usual, `At most so many; ${usual} when absent`),
  offset: whole(0, 10_000_000, 0, 'Where to go on'),
});

const threadIds = ids('Threads, such as conversations');
const runIds = ids('Runs');
const traceIds = ids('Traces');
const labels = ids('Labels of spans');
const modelName = { type: 'string', maxLength: 512, description: 'Only with calls of this model' };

/** Lengths of the excerpts in a list's items, as shares of the usual length; the first with which the page fits is used. */
const excerptShares = [1, 0.25, 0.05];
/** Space for the members beside the items, such as the note. */
const noteBytes = 256;

/**
 * A page of a list, cut to the size that an answer may have, with a note if more follows.
 * @param what the items, in the plural
 * @param show an item as the answer shows it, with excerpts of this share of their usual length
 */
function paged<T extends object>(
  what: string,
  { data, pagination }: Listed<T>,
  show: (item: T, share: number) => object = (item) => item,
  limitBytes = maxBytes,
) {
  const make = (share: number) => ({ data: data.map((item) => show(item, share)), pagination });
  const answer = fitted(excerptShares, make, limitBytes - noteBytes);
  const { offset, total } = pagination;
  const next = offset + answer.data.length;
  if (next >= total) return answer;
  const note = `Showing ${answer.data.length} of ${total} ${what}. Use limit/offset for more: the next offset is ${next}.`;
  return { ...answer, _note: note };
}

const fetchRuns = (reads: TraceReads): Tool =>
  traceTool<ListRunsQuery>({
    name: 'fetch_runs',
    description:
      'Fetch runs with their figures: calls of models, cost, tokens, duration, errors. The newest come first.',
    properties: {
      threadIds,
      runIds,
      traceIds,
      modelName,
      ...paging(50),
      period: { type: 'string', enum: [...periods], description: 'Runs of this period, which ends now' },
      kind: {
        type: 'string',
        enum: ['all', ...runKinds],
        description:
          'agent (default unless runs or threads are named): without calls that named no trace and no run',
      },
    },
    answer: async (query, project) => {
      const namesRuns = query.run_ids !== undefined || query.thread_ids !== undefined;
      const filters = groupsOf(project, { kind: namesRuns ? 'all' : 'agent', ...query });
      return paged('runs', await reads.runs(filters, query));
    },
  });

const fetchGroups = (reads: TraceReads): Tool =>
  traceTool<ListGroupsQuery>({
    name: 'fetch_groups',
    description: 'Fetch figures of spans by span of time, thread or run. The newest groups come first.',
    properties: {
      groupBy: {
        type: 'string',
        enum: ['time', 'thread', 'run'],
        default: 'time',
        description: 'What belongs together',
      },
      threadIds,
      traceIds,
      modelName,
      bucketSize: whole(1, 31_536_000, 3_600, 'Seconds of a span of time'),
      ...paging(100),
    },
    answer: async (query, project) => {
      const grouping = groupingOf(query.group_by, query.bucket_size);
      return paged('groups', await reads.groups(grouping, groupsOf(project, query), query));
    },
  });

const fetchSpans = (reads: TraceReads): Tool =>
  traceTool<ListSpansQuery>({
    name: 'fetch_spans',
    description:
      'Fetch spans with what they carried, by start. Long contents are cut: get_span_content shows more of single spans.',
    properties: {
      spanIds: ids('Spans'),
      threadIds,
      runIds,
      traceIds,
      operationNames: ids('Names of operations, such as api_invoke'),
      parentSpanIds: ids('Parents; "null": spans without one'),
      labels,
      ...paging(10),
    },
    answer: async ({ limit, offset, ...query }, project) => {
      const found = await reads.spans(spansOf(project, query), { limit, offset });
      return paged('spans', found, ({ attribute = {}, ...span }, share) => ({
        ...span,
        attribute: excerptsOf(attribute, share),
      }));
    },
  });

const maxSpansOfRun = 100;
/** Larger than other answers, so that one call shows an ordinary run and its spans. */
const maxBytesOfRun = 65_536;
/** Share of these bytes for the run's own figures. */
const figuresShare = 1 / 8;

const getRunDetails = (reads: TraceReads): Tool =>
  traceTool<{ readonly run_id: string }>({
    name: 'get_run_details',
    description: 'Get one run with its figures and its spans by start, without what they carried.',
    properties: { runId: { type: 'string', maxLength: 512, description: 'The run' } },
    required: ['runId'],
    answer: async ({ run_id: id }, project) => {
      const spans = { project, runIds: [id] };
      const { data } = await reads.runs({ spans }, { limit: 1, offset: 0 });
      if (!data[0]) throw misuse(`Run ${id} not found`);
      const found = await reads.spans(spans, { limit: maxSpansOfRun, offset: 0, withAttributes: false });
      const shared = sharedIds(found.data);
      const show = (span: SpanView, share: number): object => withoutShared(span, Object.keys(shared), share);
      const page = paged('spans', found, show, maxBytesOfRun * (1 - figuresShare));
      return {
        data: withinBytes(data[0], maxBytesOfRun * figuresShare),
        of_all_spans: shared,
        spans: page.data,
        total_spans: found.pagination.total,
        ...('_note' in page && { _note: `${page._note} fetch_spans with this runId goes on there.` }),
      };
    },
  });

/** Ids that all spans of a run have in common. */
function sharedIds([first, ...others]: readonly SpanView[]): Partial<SpanView> {
  const names = (['trace_id', 'thread_id', 'run_id', 'key_id'] as const).filter(
    (name) => first && first[name] !== null && others.every((span) => span[name] === first[name]),
  );
  return Object.fromEntries(names.map((name) => [name, first?.[name]]));
}

/** A span without empty members, and without the members that all spans of the run share. */
function withoutShared(span: SpanView, shared: readonly string[], share: number): object {
  const members = Object.entries(span).filter(([name, value]) => value !== null && !shared.includes(name));
  return excerptsOf(Object.fromEntries(members), share);
}

const listLabels = (reads: TraceReads): Tool =>
  traceTool<LabelsQuery>({
    name: 'list_labels',
    description: 'List the labels that spans have, the commonest first.',
    properties: {
      threadId: { type: 'string', maxLength: 512, description: 'Only of this thread' },
      limit: paging(100).limit,
    },
    answer: async ({ thread_id: thread, limit }, project) => {
      const filter = { project, ...(thread !== undefined && { threadIds: [thread] }) };
      const { labels: data, total } = await reads.labels(filter, limit);
      const note =
        total > data.length
          ? `Showing ${data.length} of ${total} labels.`
          : 'Use labels to filter fetch_spans or fetch_spans_summary.';
      return { data, total, _note: note };
    },
  });

/** Makers of tools that list runs, spans, groups and labels. */
export const traceListTools = [fetchRuns, fetchSpans, getRunDetails, fetchGroups, listLabels];
