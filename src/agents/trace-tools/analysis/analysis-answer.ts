import { parse } from 'secure-json-parse';
import { isObject, type JsonObject } from '../../../base/common/json.js';
import type { SpanView } from '../../../records/spans/reads/trace-views.dto.js';
import type { SpanContents } from '../../../records/spans/ingest/span-texts.js';

/** Types and severities of issues that a model may report. */
export const issueTypes = ['error', 'performance', 'semantic', 'tool', 'other'] as const;
export const issueSeverities = ['high', 'medium', 'low'] as const;
/** Subjects that an analysis may look for first. */
export const focuses = ['all', 'errors', 'performance', 'semantic'] as const;
export type Focus = (typeof focuses)[number];

/** A span with its texts, as an analysis reads it. */
export interface AnalysedSpan
  extends
    SpanContents,
    Pick<
      SpanView,
      | 'span_id'
      | 'trace_id'
      | 'thread_id'
      | 'operation_name'
      | 'kind'
      | 'status'
      | 'error_message'
      | 'model'
      | 'tool_name'
      | 'key_id'
      | 'execution_id'
      | 'start_time_us'
      | 'duration_ms'
    > {}

/** A problem that a model found in a span. */
export interface Issue {
  readonly type: (typeof issueTypes)[number];
  readonly severity: (typeof issueSeverities)[number];
  /** The model's quotation from the span. */
  readonly data_snippet: string;
  readonly explanation: string;
  readonly tool_name: string | null;
  readonly tool_call_id: string | null;
  /** Present if the span does not contain the quotation. */
  readonly unverified?: true;
}

/** The model's findings in one span. */
interface SpanAnalysis {
  readonly span_id: string;
  readonly issue_title: string;
  readonly issues: readonly Issue[];
}

/** A pattern that a model found over several spans. */
interface Correlation {
  readonly spans: readonly string[];
  readonly pattern: string;
  readonly description: string;
}

/** The model's answers about all spans of one analysis. */
export interface Analysis {
  readonly overall_assessment: string;
  readonly issue_count: Readonly<Record<Issue['severity'], number>>;
  readonly span_analyses: readonly SpanAnalysis[];
  readonly correlations: readonly Correlation[];
  readonly recommendations: readonly string[];
  /** Answers of the model that were not JSON. */
  readonly _raw_response?: string;
}

/** The usable parts of a model's answer about one batch of spans. */
export type BatchAnalysis = Omit<Analysis, 'issue_count'>;

/**
 * Reads a model's answer: JSON, with or without a Markdown fence around it. Leaves out spans of which the model was not
 * asked, and checks each quotation against its span.
 */
export function readAnswer(answerText: string, spans: readonly AnalysedSpan[]): BatchAnalysis {
  const answer = jsonIn(answerText);
  if (!answer) {
    const empty = { span_analyses: [], correlations: [], recommendations: [] };
    return { overall_assessment: answerText, ...empty, _raw_response: answerText };
  }
  const spansById = new Map(spans.map((span) => [span.span_id, span]));
  return {
    overall_assessment: textIn(answer.overall_assessment),
    span_analyses: listIn(answer.span_analyses).flatMap((each) => spanAnalysesIn(each, spansById)),
    correlations: listIn(answer.correlations).flatMap((each) => correlationsIn(each)),
    recommendations: listIn(answer.recommendations).filter((each) => typeof each === 'string'),
  };
}

/** Merges the answers about batches. The model's own counts of issues are ignored. @param spanIds all analysed spans */
export function mergeAnswers(answers: readonly BatchAnalysis[], spanIds: ReadonlySet<string>): Analysis {
  const hasSeveralBatches = answers.length > 1;
  const spans = answers.flatMap(({ span_analyses: found }) => found);
  const issues = spans.flatMap((span) => span.issues);
  const raw = answers.flatMap(({ _raw_response: text }) => text ?? []).join('\n');
  const correlations = answers.flatMap((answer) => answer.correlations);
  return {
    overall_assessment: answers
      .map(({ overall_assessment: answerText }, index) =>
        hasSeveralBatches ? `[Batch ${index + 1}] ${answerText}` : answerText,
      )
      .join('\n'),
    issue_count: {
      high: issues.filter(({ severity }) => severity === 'high').length,
      medium: issues.filter(({ severity }) => severity === 'medium').length,
      low: issues.filter(({ severity }) => severity === 'low').length,
    },
    span_analyses: spans,
    correlations: correlations.map((each) => ({
      ...each,
      spans: each.spans.filter((id) => spanIds.has(id)),
    })),
    recommendations: [...new Set(answers.flatMap(({ recommendations }) => recommendations))],
    ...(raw !== '' && { _raw_response: raw }),
  };
}

const fence = /```(?:json)?\s*([\s\S]*?)```/i;

/** The first JSON object in a text: the whole text, a fenced block, or the text between the outermost braces. */
function jsonIn(answerText: string): JsonObject | undefined {
  const fenced = fence.exec(answerText)?.[1];
  const braces = answerText.slice(answerText.indexOf('{'), answerText.lastIndexOf('}') + 1);
  for (const text of [answerText, fenced, braces]) {
    const value = jsonOrUndefined(text ?? '');
    if (isObject(value)) return value;
  }
  return undefined;
}

function jsonOrUndefined(text: string): unknown {
  try {
    return parse(text.trim(), undefined, { protoAction: 'remove', constructorAction: 'remove' });
  } catch {
    return undefined;
  }
}

/** Members of other types than expected are read as empty. */
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** @returns a list of one, or an empty one if the value is unusable; as `issuesIn` and `correlationsIn` */
function spanAnalysesIn(value: unknown, spansById: ReadonlyMap<string, AnalysedSpan>): SpanAnalysis[] {
  if (!isObject(value)) return [];
  const span = spansById.get(textIn(value.span_id));
  if (!span) return [];
  const issues = listIn(value.issues).flatMap((each) => issuesIn(each, span));
  return [{ span_id: span.span_id, issue_title: textIn(value.issue_title), issues }];
}

function issuesIn(value: unknown, span: AnalysedSpan): Issue[] {
  if (!isObject(value)) return [];
  const snippet = textIn(value.data_snippet);
  return [
    {
      type: issueTypes.find((type) => type === value.type) ?? 'other',
      severity: issueSeverities.find((severity) => severity === value.severity) ?? 'low',
      data_snippet: snippet,
      explanation: textIn(value.explanation),
      tool_name: textIn(value.tool_name) || null,
      tool_call_id: textIn(value.tool_call_id) || null,
      ...(!isQuotedFrom(span, snippet) && { unverified: true as const }),
    },
  ];
}

/**
 * Whether a span contains a snippet verbatim. Spans are shown to models as JSON, so either text may have been escaped. An
 * empty snippet proves nothing.
 */
function isQuotedFrom({ input, output, ...span }: AnalysedSpan, snippet: string): boolean {
  const wanted = snippet.trim();
  if (wanted === '') return false;
  const texts = [input, output, span.error_message ?? '', span.operation_name];
  return texts.some(
    (text) => text.includes(wanted) || text.includes(escaped(wanted)) || escaped(text).includes(wanted),
  );
}

/** A text as it stands in a JSON string. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

function correlationsIn(value: unknown): Correlation[] {
  if (!isObject(value)) return [];
  const spans = listIn(value.spans).filter((id) => typeof id === 'string');
  return [{ spans, pattern: textIn(value.pattern), description: textIn(value.description) }];
}
