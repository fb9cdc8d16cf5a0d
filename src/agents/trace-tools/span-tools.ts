import { placeOf } from '../../base/semantic-errors/find-semantic-error.js';
import { spanTextsOf } from '../../records/spans/ingest/span-texts.js';
import { isOptimizable } from '../../records/spans/span-row.js';
import { spansOf } from '../../records/spans/reads/trace-filters.js';
import type { ListSpansQuery } from '../../records/spans/reads/trace-queries.dto.js';
import type { TraceReads } from '../../records/spans/reads/trace-reads.js';
import type { SpanView } from '../../records/spans/reads/trace-views.dto.js';
import type { Tool } from '../../web/contract/tool.js';
import { excerptOf, excerptsOf, fitted, withinBytes } from './small-answers.js';
import { ids, misuse, maxBytes, distinctSpans, traceTool } from './trace-tool.js';

const nextStep =
  'Use get_span_content with the span_ids above for details, or analyze_with_llm to have them judged.';

/** Summarises spans. @param unstored the number of accepted spans that cannot be read yet */
export const fetchSpansSummaryTool = (reads: TraceReads, unstored: () => number): Tool =>
  traceTool<Pick<ListSpansQuery, 'thread_ids' | 'run_ids' | 'trace_ids' | 'labels'>>({
    name: 'fetch_spans_summary',
    description:
      'Summarise all spans of traces, threads, runs or labels, however many: counts, cost, tokens, latency, errors, errors that hide in texts, the slowest and the most expensive spans. Start an analysis here.',
    properties: {
      threadIds: ids('Threads, such as conversations'),
      runIds: ids('Runs'),
      traceIds: ids('Traces'),
      labels: ids('Labels of spans'),
    },
    answer: async (query, project) => {
      if (!query.thread_ids && !query.run_ids && !query.trace_ids && !query.labels)
        throw misuse('threadIds, runIds, or labels is required');
      const summary = await reads.summary(spansOf(project, query));
      const uncounted = unstored();
      const note = uncounted > 0 ? ` ${uncounted} spans were taken and are not counted yet.` : '';
      return withinBytes({ ...summary, _note: `${nextStep}${note}` }, maxBytes);
    },
  });

const maxSpans = 5;
/** Max spans shown; more than `maxSpans`, because an id may occur in several traces. */
const maxFound = 25;
const maxBytesInFull = 8 * maxBytes;
/** Lengths of the excerpts, as shares of the usual length; the first with which the answer fits is used. */
const excerptShares = [1, 0.5, 0.25, 0.1];
/** The same for `full`: the first one cuts hardly anything. */
const excerptSharesInFull = [1_000, 30, 5, 1];

/** Shows single spans with their contents: excerpts, or `full`. */
export const getSpanContentTool = (reads: TraceReads): Tool =>
  traceTool<{ readonly span_ids: readonly string[]; readonly full?: boolean }>({
    name: 'get_span_content',
    description: `Get what spans took in and gave out, at most ${maxSpans} at once. Long texts show their beginning and their end.`,
    properties: {
      spanIds: ids(`At most ${maxSpans} spans`),
      full: { type: 'boolean', default: false, description: 'With everything that the spans carried' },
    },
    required: ['spanIds'],
    answer: async ({ span_ids: spanIds, full = false }, project) => {
      const wanted = distinctSpans(spanIds, maxSpans, 'retrieved');
      const { data: spans } = await reads.spans({ project, spanIds: wanted }, { limit: maxFound, offset: 0 });
      const inOrder = wanted.flatMap((id) => spans.filter((span) => span.span_id === id));
      const notFound = wanted.filter((id) => !spans.some((span) => span.span_id === id));
      const make = (show: typeof inFull) => (share: number) => ({
        data: inOrder.map((span) => show(span, share)),
        not_found: notFound,
      });
      return full
        ? fitted(excerptSharesInFull, make(inFull), maxBytesInFull)
        : fitted(excerptShares, make(inExcerpts), maxBytes);
    },
  });

/** A span with excerpts of its input and output, around the error that was found in them. */
function inExcerpts(span: SpanView, share: number): object {
  const { input, output } = spanTextsOf(span);
  const placeInOutput = placeOf(span.semantic_pattern, output, 'first');
  const placeInInput = placeInOutput < 0 ? placeOf(span.semantic_pattern, input, 'last') : -1;
  return {
    span_id: span.span_id,
    trace_id: span.trace_id,
    operation_name: span.operation_name,
    kind: span.kind,
    duration_ms: span.duration_ms,
    status: span.status,
    input_excerpt: excerptOf(input, share, placeInInput),
    output_excerpt: excerptOf(output, share, placeInOutput),
    error: span.error_message,
    model: span.model,
    ...(span.tool_name !== null && { tool_name: span.tool_name }),
    ...(span.execution_id !== null && { execution_id: span.execution_id }),
    ...(span.semantic_pattern !== null && { detected_pattern: span.semantic_pattern }),
  };
}

/** A span with all its attributes. */
const inFull = (span: SpanView, share: number): object => ({
  ...inExcerpts(span, 1),
  thread_id: span.thread_id,
  run_id: span.run_id,
  parent_span_id: span.parent_span_id,
  start_time_us: span.start_time_us,
  finish_time_us: span.finish_time_us,
  attribute: excerptsOf(span.attribute ?? {}, share),
});

const cacheMs = 300_000;
/** Shorter, because a span that is not found may arrive soon. */
const notFoundCacheMs = 10_000;

const optimizable = 'This span is an actual model call and can be optimized';
const notOptimizable =
  'This span is not available for optimization. Only actual model call spans (where operation_name is the model name) can be optimized.';

/** Answers whether an experiment can be made from a span. Answers are cached, because agents ask repeatedly. */
export const isValidForOptimizeTool = (reads: TraceReads): Tool =>
  traceTool<{ readonly span_id: string }>({
    name: 'is_valid_for_optimize',
    description:
      'Check whether a span can be optimized, which means that its request can be tried again with changes. Ask once for a span: the answer is cached for five minutes.',
    properties: { spanId: { type: 'string', maxLength: 512, description: 'The span' } },
    required: ['spanId'],
    cacheTtlMs: cacheMs,
    asReused: (result) => ({
      ...(result as object),
      _cached: true,
      _note: 'Result retrieved from cache. No duplicate API call made.',
    }),
    answer: async ({ span_id: spanId }, project, { notes }) => {
      const filter = { project, spanIds: [spanId] };
      // An id may occur in several traces.
      const { data } = await reads.spans(filter, { limit: 100, offset: 0, withAttributes: false });
      // The filter takes `null` and `!null` as words: they find spans without or with an id.
      const spans = data.filter(({ span_id: id }) => id === spanId);
      if (spans.length === 0) {
        notes.ttlMs = notFoundCacheMs;
        return { valid: false, spanId, reason: `Span ${spanId} not found` };
      }
      const valid = spans.some(isOptimizable);
      return { valid, spanId, reason: valid ? optimizable : notOptimizable };
    },
  });
