import type { JsonObject } from '../../../base/common/json.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import { noLlm, threadHeader } from '../../llm/llm.module.js';
import type { Tool } from '../../../web/contract/tool.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import type { SpanView } from '../../../records/spans/reads/trace-views.dto.js';
import { spanTextsOf } from '../../../records/spans/ingest/span-texts.js';
import type { TraceReads } from '../../../records/spans/reads/trace-reads.js';
import { ids, misuse, distinctSpans, traceTool } from '../trace-tool.js';
import { type AnalysedSpan, type Analysis, type Focus, focuses } from './analysis-answer.js';
import type { SpanAnalyst } from './span-analyst.js';

const maxSpans = 15;
/** Max spans of one id, which may occur in several traces. */
const maxPerId = 5;
const timeoutMs = 120_000;

interface AnalyzeQuery {
  readonly span_ids: readonly string[];
  readonly focus: Focus;
  readonly context?: string;
}

interface AnalysisServices {
  /** Undefined if no language model is configured. */
  readonly analyst: SpanAnalyst | undefined;
  readonly reads: TraceReads;
  /** Is called with each analysis before the tool answers. */
  readonly onAnalysed: (analysis: Analysis, spans: readonly AnalysedSpan[]) => Promise<void>;
}

/** Lets a language model judge spans: silent failures, buried warnings, degradation, errors of tools. */
export const analyzeWithLlmTool = ({ analyst, reads, onAnalysed }: AnalysisServices): Tool =>
  traceTool<AnalyzeQuery>({
    name: 'analyze_with_llm',
    description:
      'Let a language model judge spans: silent failures under status success, warnings buried in long answers, gradual degradation, wrong tool calls. Use after fetch_spans_summary, on the spans that look odd.',
    properties: {
      spanIds: ids(`At most ${maxSpans} spans`),
      focus: { type: 'string', enum: focuses, default: 'all', description: 'What is looked for first' },
      context: { type: 'string', maxLength: 4_000, description: 'What else is known about the run' },
    },
    required: ['spanIds'],
    timeoutMs,
    openWorld: true,
    upstream: 'The store of spans or the language model',
    answer: async ({ span_ids: spanIds, focus, context }, project, run) => {
      const wanted = distinctSpans(spanIds, maxSpans, 'analyzed');
      if (!analyst) throw new ToolFailure('upstream_unavailable', noLlm);
      const page = { limit: wanted.length * maxPerId, offset: 0 };
      const spans = (await reads.spans({ project, spanIds: wanted }, page)).data.map(withTexts);
      const missing = wanted.filter((id) => !spans.some((span) => span.span_id === id));
      if (spans.length === 0) throw misuse(`None of these spans is there: ${missing.join(', ')}`);
      // The model's calls belong to the spans' thread, else to the caller's.
      const thread = spans.find((span) => span.thread_id !== null)?.thread_id ?? run.context.threadId;
      const headers = { 'x-label': 'analyze_with_llm', ...threadHeader(thread) };
      const usage = { inputTokens: 0, outputTokens: 0 };
      const onUsage = (spent: JsonObject): void => {
        usage.inputTokens += Math.max(0, Number(spent['prompt_tokens']) || 0);
        usage.outputTokens += Math.max(0, Number(spent['completion_tokens']) || 0);
      };
      const options = { headers, signal: run.signal, onUsage };
      const { analysis, failed } = await analyst
        .analyse({ spans, focus, context }, options)
        .catch(throwToolFailure);
      await onAnalysed(analysis, spans);
      return {
        focus,
        spans_analyzed: spans.length - failed.flatMap((batch) => batch.span_ids).length,
        ...(missing.length > 0 && { not_found: missing }),
        ...(failed.length > 0 && { failed_batches: failed }),
        analysis,
        usage,
        _note: 'Findings marked `unverified` quote what does not stand in their span.',
      };
    },
  });

/** A span with its input and output; with all its attributes as output if neither is found in them. */
function withTexts({ attribute = {}, ...span }: SpanView): AnalysedSpan {
  const { input, output } = spanTextsOf({ kind: span.kind, attribute });
  const hasTexts = input !== '' || output !== '';
  return { ...span, input, output: hasTexts ? output : JSON.stringify(attribute) };
}

function throwToolFailure(error: unknown): never {
  if (!(error instanceof UpstreamFailure)) throw error;
  throw new ToolFailure('upstream_unavailable', `The language model gave no answer: ${error.message}`);
}
