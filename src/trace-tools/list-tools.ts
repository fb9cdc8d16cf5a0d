import { runOf, groupOf } from '../records/spans/reads/trace-reads.service.js';
import { groupingOf, groupsOf, spansOf } from '../records/spans/reads/trace-filters.js';
import type { TraceReads } from '../records/spans/reads/trace-reads.js';
import { type Period, periods } from '../records/spans/reads/trace-queries.dto.js';
import type { Listed, SpanRead } from '../records/spans/reads/reads.types.js';
import type { Tool } from '../tool-contract/tool.js';
import { excerptsOf, fitted, withinBytes } from './small-answers.js';
import { type Ids, ids, listOf, misuse, mostBytes, traceTool } from './trace-tool.js';

interface Paged {
  readonly limit: number;
  readonly offset: number;
}

const paging = (usual: number) => ({
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000,
    default: usual,
    description: `At most so many; ${usual} when absent`,
  },
  offset: { type: 'integer', minimum: 0, maximum: 10_000_000, default: 0, description: 'Where to go on' },
});

const threadIds = ids('Threads, such as conversations');
const runIds = ids('Runs');
const labels = ids('Labels of spans');
const modelName = { type: 'string', maxLength: 512, description: 'Only with calls of this model' };

/** The page, as much of it as an answer may hold, and how to go on. @param what in the plural @param most bytes */
function paged<T, R>(
  what: string,
  { data, pagination }: Listed<T>,
  form: (item: T, share: number) => R,
  most = mostBytes,
): object {
  const make = (share: number) => ({ data: data.map((item) => form(item, share)), pagination });
  const answer = fitted([1, 0.25, 0.05], make, most - 256);
  const { offset, total } = pagination;
  const shown = answer.data.length;
  if (offset + shown >= total) return answer;
  const next = offset + shown;
  const note = `Showing ${shown} of ${total} ${what}. Use limit/offset for more: the next offset is ${next}.`;
  return { ...answer, _note: note };
}

interface FetchRuns extends Paged {
  readonly threadIds?: Ids;
  readonly runIds?: Ids;
  readonly modelName?: string;
  readonly period?: Period;
}

export const fetchRuns = (reads: TraceReads): Tool =>
  traceTool<FetchRuns>({
    name: 'fetch_runs',
    description:
      'Fetch runs with their figures: calls of models, cost, tokens, duration, errors. The newest come first.',
    properties: {
      threadIds,
      runIds,
      modelName,
      ...paging(50),
      period: { type: 'string', enum: [...periods], description: 'Runs of this period, which ends now' },
    },
    answer: async (input, project) => {
      const { limit, offset, period } = input;
      const query = {
        period,
        thread_ids: mutable(input.threadIds),
        run_ids: mutable(input.runIds),
        model_name: input.modelName,
      };
      const found = await reads.groups({ by: 'run' }, groupsOf(project, query), { limit, offset });
      return paged('runs', found, runOf);
    },
  });

interface FetchGroups extends Paged {
  readonly groupBy: 'time' | 'thread' | 'run';
  readonly threadIds?: Ids;
  readonly modelName?: string;
  readonly bucketSize: number;
}

export const fetchGroups = (reads: TraceReads): Tool =>
  traceTool<FetchGroups>({
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
      modelName,
      bucketSize: {
        type: 'integer',
        minimum: 1,
        maximum: 31_536_000,
        default: 3_600,
        description: 'Seconds of a span of time',
      },
      ...paging(100),
    },
    answer: async (input, project) => {
      const { limit, offset, groupBy, bucketSize } = input;
      const query = { thread_ids: mutable(input.threadIds), model_name: input.modelName };
      const grouping = groupingOf(groupBy, bucketSize);
      const found = await reads.groups(grouping, groupsOf(project, query), { limit, offset });
      return paged('groups', found, (row) => groupOf(groupBy, row));
    },
  });

interface FetchSpans extends Paged {
  readonly spanIds?: Ids;
  readonly threadIds?: Ids;
  readonly runIds?: Ids;
  readonly operationNames?: Ids;
  readonly parentSpanIds?: Ids;
  readonly labels?: Ids;
}

export const fetchSpans = (reads: TraceReads): Tool =>
  traceTool<FetchSpans>({
    name: 'fetch_spans',
    description:
      'Fetch spans with what they carried, by start. Long contents are cut: get_span_content shows more of single spans.',
    properties: {
      spanIds: ids('Spans'),
      threadIds,
      runIds,
      operationNames: ids('Names of operations, such as api_invoke'),
      parentSpanIds: ids('Parents; "null": spans without one'),
      labels,
      ...paging(10),
    },
    answer: async (input, project) => {
      const { limit, offset } = input;
      const query = {
        span_ids: mutable(input.spanIds),
        thread_ids: mutable(input.threadIds),
        run_ids: mutable(input.runIds),
        operation_names: mutable(input.operationNames),
        parent_span_ids: mutable(input.parentSpanIds),
        labels: mutable(input.labels),
      };
      const found = await reads.spans(spansOf(project, query), { limit, offset });
      return paged('spans', found, ({ attribute = {}, ...span }, share) => ({
        ...span,
        attribute: excerptsOf(attribute, share),
      }));
    },
  });

const spansOfRun = 100;
/** The run and its spans are one answer, so that nobody has to ask again for an ordinary run. */
const mostBytesOfRun = 65_536;

export const getRunDetails = (reads: TraceReads): Tool =>
  traceTool<{ readonly runId?: string }>({
    name: 'get_run_details',
    description: 'Get one run with its figures and its spans by start, without what they carried.',
    properties: { runId: { type: 'string', maxLength: 512, description: 'The run' } },
    required: ['runId'],
    answer: async ({ runId = '' }, project) => {
      if (runId.trim() === '') throw misuse('runId is required');
      const filter = { project, runIds: [runId] };
      const { data } = await reads.groups({ by: 'run' }, { spans: filter }, { limit: 1, offset: 0 });
      if (!data[0]) throw misuse(`Run ${runId} not found`);
      const found = await reads.spans(filter, { limit: spansOfRun, offset: 0 }, false);
      const run = withinBytes({ ...runOf(data[0]) }, mostBytesOfRun / 8);
      const shared = sharedIds(found.data);
      const form = (span: SpanRead, share: number): object => briefly(span, Object.keys(shared), share);
      const { data: spans, ...rest } = paged('spans', found, form, mostBytesOfRun * 0.875) as {
        data: object[];
      };
      const more = '_note' in rest && {
        _note: `${String(rest._note)} fetch_spans with this runId goes on there.`,
      };
      return { data: run, of_all_spans: shared, spans, total_spans: found.pagination.total, ...more };
    },
  });

/** Ids that all spans of a run have in common. */
function sharedIds([first, ...others]: readonly SpanRead[]): Partial<SpanRead> {
  const names = (['trace_id', 'thread_id', 'run_id', 'key_id'] as const).filter(
    (name) => first && first[name] !== null && others.every((span) => span[name] === first[name]),
  );
  return Object.fromEntries(names.map((name) => [name, first?.[name]]));
}

/** A span without the members that say nothing, or what all of its run say. */
function briefly(span: SpanRead, shared: readonly string[], share: number): object {
  const members = Object.entries(span).filter(([name, value]) => value !== null && !shared.includes(name));
  return excerptsOf(Object.fromEntries(members), share);
}

export const listLabels = (reads: TraceReads): Tool =>
  traceTool<{ readonly threadId?: string; readonly limit: number }>({
    name: 'list_labels',
    description: 'List the labels that spans have, the commonest first.',
    properties: {
      threadId: { type: 'string', maxLength: 512, description: 'Only of this thread' },
      limit: paging(100).limit,
    },
    answer: async ({ threadId, limit }, project) => {
      const filter = { project, ...(threadId !== undefined && { threadIds: [threadId] }) };
      const { labels: data, total } = await reads.labels(filter, limit);
      const note =
        total > data.length
          ? `Showing ${data.length} of ${total} labels.`
          : 'Use labels to filter fetch_spans or fetch_spans_summary.';
      return { data, total, _note: note };
    },
  });

function mutable(given: Ids | undefined): string[] | undefined {
  const list = listOf(given);
  return list && [...list];
}
