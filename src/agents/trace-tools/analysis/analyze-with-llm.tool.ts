import type { JsonObject } from '../../../base/common/json.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import { noLlm } from '../../llm/llm.module.js';
import type { Tool, ToolRun } from '../../../web/contract/tool.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import type { SpanView } from '../../../records/spans/reads/trace-views.dto.js';
import { spanTextsOf } from '../../../records/spans/ingest/span-texts.js';
import type { TraceReads } from '../../../records/spans/reads/trace-reads.js';
import { ids, misuse, distinctSpans, traceTool } from '../trace-tool.js';
import { type AnalysedSpan, type Analysis, type Focus, focuses } from './analysis-answer.js';
import type { SpanAnalyst } from './span-analyst.js';

const maxSpans = 15;
/** An id that occurs in several traces is each of those spans. */
const maxPerId = 5;
const timeoutMs = 120_000;

interface Wanted {
  readonly span_ids: readonly string[];
  readonly focus: Focus;
  readonly context?: string;
}

interface AnalysisSources {
  /** Undefined if no language model is configured. */
  readonly analyst: SpanAnalyst | undefined;
  readonly reads: TraceReads;
  /** Takes note of what was found. */
  readonly found: (analysis: Analysis, spans: readonly AnalysedSpan[]) => Promise<void>;
}

/** Lets a language model judge spans: silent failures, buried warnings, degradation, errors of tools. */
export const analyzeWithLlm = ({ analyst, reads, found }: AnalysisSources): Tool =>
  traceTool<Wanted>({
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
    answer: async ({ span_ids: asked, focus, context }, project, run) => {
      const wanted = distinctSpans(asked, maxSpans, 'analyzed');
      if (!analyst) throw new ToolFailure('upstream_unavailable', noLlm);
      const page = { limit: wanted.length * maxPerId, offset: 0 };
      const spans = (await reads.spans({ project, spanIds: wanted }, page)).data.map(analysed);
      const missing = wanted.filter((id) => !spans.some((span) => span.span_id === id));
      if (spans.length === 0) throw misuse(`None of these spans is there: ${missing.join(', ')}`);
      const headers = { 'x-label': 'analyze_with_llm', ...threadOf(spans, run) };
      const question = { spans, focus, context };
      const usage = { inputTokens: 0, outputTokens: 0 };
      const onUsage = (spent: JsonObject): void => {
        usage.inputTokens += Math.max(0, Number(spent['prompt_tokens']) || 0);
        usage.outputTokens += Math.max(0, Number(spent['completion_tokens']) || 0);
      };
      const answer = analyst.analyse(question, { headers, signal: run.signal, onUsage });
      const { analysis, failed } = await answered(answer);
      await found(analysis, spans);
      return {
        focus,
        spans_analyzed: spans.length - failed.flatMap(({ span_ids: ids }) => ids).length,
        ...(missing.length > 0 && { not_found: missing }),
        ...(failed.length > 0 && { failed_batches: failed }),
        analysis,
        usage,
        _note: 'Findings marked `unverified` quote what does not stand in their span.',
      };
    },
  });

/** A span for the analysis: its texts, or its attributes if no field of its dialect holds any. */
function analysed({ attribute = {}, ...span }: SpanView): AnalysedSpan {
  const { input, output } = spanTextsOf({ kind: span.kind, attribute });
  return { ...span, input, output: input + output === '' ? JSON.stringify(attribute) : output };
}

function threadOf(spans: readonly AnalysedSpan[], { context }: ToolRun): Record<string, string> {
  const thread = spans.find((span) => span.thread_id !== null)?.thread_id ?? context.threadId;
  return thread !== undefined && /^[\x20-\x7e]{1,512}$/.test(thread) ? { 'x-thread-id': thread } : {};
}

async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    throw new ToolFailure('upstream_unavailable', `The language model gave no answer: ${error.message}`);
  }
}
