import type { Tool } from '../tool-contract/tool.js';
import { isOptimizable } from '../records/spans/reads/span-contents.js';
import type { TraceReads } from '../records/spans/reads/trace-reads.js';
import { misuse, traceTool } from './trace-tool.js';

const keptMs = 300_000;
/** A span that is not there may be on its way. */
const notFoundKeptMs = 10_000;

const optimizable = 'This span is an actual model call and can be optimized';
const notOptimizable =
  'This span is not available for optimization. Only actual model call spans (where operation_name is the model name) can be optimized.';

/** Whether an experiment can be made from a span. Agents ask again and again: an answer is kept, and says so. */
export const isValidForOptimize = (reads: TraceReads): Tool =>
  traceTool<{ readonly spanId?: string }>({
    name: 'is_valid_for_optimize',
    description:
      'Check whether a span can be optimized, which means that its request can be tried again with changes. Ask once for a span: the answer is kept for five minutes.',
    properties: { spanId: { type: 'string', maxLength: 512, description: 'The span' } },
    required: ['spanId'],
    cacheTtlMs: keptMs,
    asReused: (result) => ({
      ...(result as object),
      _cached: true,
      _note: 'Result retrieved from cache. No duplicate API call made.',
    }),
    answer: async ({ spanId = '' }, project, { notes }) => {
      if (spanId.trim() === '') throw misuse('spanId is required');
      const filter = { project, spanIds: [spanId] };
      // An id that occurs in several traces is each of those spans.
      const { data } = await reads.spans(filter, { limit: 100, offset: 0 }, false);
      // The words `null` and `!null` ask for something else than an id.
      const spans = data.filter(({ span_id: id }) => id === spanId);
      if (spans.length === 0) {
        notes.ttlMs = notFoundKeptMs;
        return { valid: false, spanId, reason: `Span ${spanId} not found` };
      }
      const valid = spans.some(isOptimizable);
      return { valid, spanId, reason: valid ? optimizable : notOptimizable };
    },
  });
