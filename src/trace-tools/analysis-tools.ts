import type { SpanRead } from '../records/spans/reads/reads.types.js';
import { spanTextsOf } from '../records/spans/reads/span-contents.js';
import { wantedIds } from '../records/spans/reads/trace-filters.js';
import type { TraceReads } from '../records/spans/reads/trace-reads.js';
import type { Tool } from '../tool-contract/tool.js';
import { placeOf } from '../semantic-errors/find-semantic-error.js';
import { excerptOf, excerptsOf, fitted, withinBytes } from './small-answers.js';
import { type Ids, ids, listOf, misuse, mostBytes, traceTool } from './trace-tool.js';

interface Summarised {
  readonly threadIds?: Ids;
  readonly runIds?: Ids;
  readonly labels?: Ids;
}

const nextStep =
  'Use get_span_content with the span_ids above for details, or analyze_with_llm to have them judged.';

/** @param waiting spans that were taken and cannot be read yet */
export const fetchSpansSummary = (reads: TraceReads, waiting: () => number): Tool =>
  traceTool<Summarised>({
    name: 'fetch_spans_summary',
    description:
      'Summarise all spans of threads, runs or labels, however many: counts, cost, tokens, latency, errors, errors that hide in texts, the slowest and the most expensive spans. Start an analysis here.',
    properties: {
      threadIds: ids('Threads, such as conversations'),
      runIds: ids('Runs'),
      labels: ids('Labels of spans'),
    },
    answer: async (input, project) => {
      const [threadIds, runIds, labels] = [input.threadIds, input.runIds, input.labels]
        .map(listOf)
        .map((given) => given && wantedIds(given));
      if (!threadIds && !runIds && !labels) throw misuse('threadIds, runIds, or labels is required');
      const filter = {
        project,
        ...(threadIds && { threadIds }),
        ...(runIds && { runIds }),
        ...(labels && { labels }),
      };
      const summary = await reads.summary(filter);
      const behind = waiting();
      const note = behind > 0 ? `${nextStep} ${behind} spans were taken and are not counted yet.` : nextStep;
      return withinBytes({ ...summary, _note: note }, mostBytes - 64);
    },
  });

const mostSpans = 5;
/** An id that occurs in several traces is each of those spans; of these so many are shown. */
const mostFound = 25;
const mostBytesInFull = 262_144;

interface Wanted {
  readonly spanIds?: Ids;
  readonly full?: boolean;
}

export const getSpanContent = (reads: TraceReads): Tool =>
  traceTool<Wanted>({
    name: 'get_span_content',
    description: `Get what spans took in and gave out, at most ${mostSpans} at once. Long texts show their beginning and their end.`,
    properties: {
      spanIds: ids(`At most ${mostSpans} spans`),
      full: { type: 'boolean', default: false, description: 'With everything that the spans carried' },
    },
    required: ['spanIds'],
    answer: async ({ spanIds, full = false }, project) => {
      const wanted = [...new Set(listOf(spanIds))];
      if (wanted.length === 0) throw misuse('spanIds is required');
      if (wanted.length > mostSpans)
        throw misuse(
          `Maximum ${mostSpans} spans can be retrieved at once. Please reduce the number of span_ids.`,
        );
      const { data: spans } = await reads.spans(
        { project, spanIds: wanted },
        { limit: mostFound, offset: 0 },
      );
      const inOrder = wanted.flatMap((id) => spans.filter((span) => span.span_id === id));
      const rest = { not_found: wanted.filter((id) => !spans.some((span) => span.span_id === id)) };
      const form = full ? inFull : inExcerpts;
      return fitted(
        full ? [1_000, 30, 5, 1] : [1, 0.5, 0.25, 0.1],
        (share) => ({ data: inOrder.map((span) => form(span, share)), ...rest }),
        (full ? mostBytesInFull : mostBytes) - 64,
      );
    },
  });

function inExcerpts(span: SpanRead, share: number): object {
  const { input, output } = spanTextsOf(span);
  const inOutput = placeOf(span.semantic_pattern, output, 'first');
  return {
    span_id: span.span_id,
    trace_id: span.trace_id,
    operation_name: span.operation_name,
    kind: span.kind,
    duration_ms: span.duration_ms,
    status: span.status,
    input_excerpt: excerptOf(input, share, inOutput < 0 ? placeOf(span.semantic_pattern, input, 'last') : -1),
    output_excerpt: excerptOf(output, share, inOutput),
    error: span.error_message,
    model: span.model,
    ...(span.tool_name !== null && { tool_name: span.tool_name }),
    ...(span.execution_id !== null && { execution_id: span.execution_id }),
    ...(span.semantic_pattern !== null && { detected_pattern: span.semantic_pattern }),
  };
}

const inFull = (span: SpanRead, share: number): object => ({
  ...inExcerpts(span, 1),
  thread_id: span.thread_id,
  run_id: span.run_id,
  parent_span_id: span.parent_span_id,
  start_time_us: span.start_time_us,
  finish_time_us: span.finish_time_us,
  attribute: excerptsOf(span.attribute ?? {}, share),
});
