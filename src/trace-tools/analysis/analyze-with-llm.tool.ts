import { projectFor } from '../../auth/project.decorator.js';
import { errorTable, Problem, Refusal } from '../../common/errors.js';
import { UpstreamFailure } from '../../common/upstream-failure.js';
import { noLlm } from '../../llm/llm.module.js';
import { defineTool } from '../../tool-contract/define-tool.js';
import type { Tool, ToolRun } from '../../tool-contract/tool.js';
import { ToolFailure } from '../../tool-contract/tool-outcome.js';
import { type AnalysedSpan, type Analysis, type Focus, focuses } from './analysis.types.js';
import type { SpanAnalyst } from './span-analyst.js';

const mostSpans = 15;
const timeoutMs = 120_000;

interface Input {
  readonly spanIds?: string | readonly string[];
  readonly focus: Focus;
  readonly context?: string;
  readonly projectId?: string;
}

export interface AnalysisSources {
  /** Undefined where no language model is configured. */
  readonly analyst: SpanAnalyst | undefined;
  readonly spans: (project: string, ids: readonly string[]) => Promise<AnalysedSpan[]>;
  /** Takes note of what was found. */
  readonly found: (analysis: Analysis, spans: readonly AnalysedSpan[]) => Promise<void>;
}

const properties = {
  spanIds: { type: 'array', items: { type: 'string' }, description: `At most ${mostSpans} spans` },
  focus: { type: 'string', enum: focuses, default: 'all', description: 'What is looked for first' },
  context: { type: 'string', maxLength: 4_000, description: 'What else is known about the run' },
  projectId: { type: 'string', minLength: 1, maxLength: 256, description: "One of the caller's projects" },
};
const given = {
  anyOf: [
    { type: 'array', maxItems: 1_000, items: { type: 'string', maxLength: 512 } },
    { type: 'string', maxLength: 100_000 },
  ],
};

/** Lets a language model judge spans: silent failures, buried warnings, degradation, errors of tools. */
export const analyzeWithLlm = ({ analyst, spans, found }: AnalysisSources): Tool =>
  defineTool<Input>({
    name: 'analyze_with_llm',
    description:
      'Let a language model judge spans: silent failures under status success, warnings buried in long answers, gradual degradation, wrong tool calls. Use after fetch_spans_summary, on the spans that look odd.',
    published: { type: 'object', properties, required: ['spanIds'] },
    // A missing field, or one too many, is told in the answer, where an agent reads it.
    input: { type: 'object', properties: { ...properties, spanIds: given }, additionalProperties: false },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: true },
    tags: ['traces'],
    timeoutMs,
    // It tells of the errors of others.
    semanticErrors: 'off',
    fallback: (error) => ({ success: false, error }),
    run: async ({ spanIds, focus, context, projectId }, run) => {
      const project = projectOf(run, projectId);
      const wanted = idsIn(spanIds);
      if (wanted.length === 0) throw misuse('spanIds is required');
      if (wanted.length > mostSpans)
        throw misuse(
          `Maximum ${mostSpans} spans can be analyzed at once. Please reduce the number of span_ids.`,
        );
      if (!analyst) throw new ToolFailure('upstream_unavailable', noLlm);
      const read = await spans(project, wanted);
      const missing = wanted.filter((id) => !read.some((span) => span.span_id === id));
      if (read.length === 0) throw misuse(`None of these spans is there: ${missing.join(', ')}`);
      const headers = { 'x-label': 'analyze_with_llm', ...threadOf(read, run) };
      const question = { spans: read, focus, context };
      const { analysis, failed } = await asked(analyst.analyse(question, { headers, signal: run.signal }));
      await found(analysis, read);
      return {
        success: true,
        focus,
        spans_analyzed: read.length - failed.flatMap(({ span_ids: ids }) => ids).length,
        ...(missing.length > 0 && { not_found: missing }),
        ...(failed.length > 0 && { failed_batches: failed }),
        analysis,
        _note: 'Findings marked `unverified` quote what does not stand in their span.',
      };
    },
  });

const misuse = (message: string): ToolFailure =>
  new ToolFailure('tool_error', message, { code: errorTable.invalid_input.jsonRpc });

/** @throws Refusal `forbidden` */
function projectOf({ principal, context }: ToolRun, named: string | undefined): string {
  if (!principal.scopes.has('traces:read'))
    throw new Refusal('forbidden', 'Reading spans needs the scope traces:read');
  try {
    return projectFor(principal, named ?? context.projectId);
  } catch (error) {
    throw error instanceof Problem ? new Refusal('forbidden', error.detail) : error;
  }
}

/** One id or several: as a list, or as text with commas between them. */
function idsIn(given: string | readonly string[] | undefined): string[] {
  const list = typeof given === 'string' ? given.split(',') : (given ?? []);
  return [...new Set(list.map((id) => id.trim()).filter((id) => id !== ''))];
}

function threadOf(spans: readonly AnalysedSpan[], { context }: ToolRun): Record<string, string> {
  const thread = spans.find((span) => span.thread_id !== null)?.thread_id ?? context.threadId;
  return thread !== undefined && /^[\x20-\x7e]{1,512}$/.test(thread) ? { 'x-thread-id': thread } : {};
}

async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    throw new ToolFailure('upstream_unavailable', `The language model gave no answer: ${error.message}`);
  }
}
