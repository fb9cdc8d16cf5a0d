import { findInSpan, findSemanticError } from '../../../base/semantic-errors/find-semantic-error.js';
import { isSelfReported } from '../../../base/semantic-errors/self-reported.js';
import type { ToolMessage } from './message-parts.js';
import { type SpanTexts, spanTextsOf } from './span-texts.js';
import type { SpanRow, ToolMessageError } from '../span-row.js';
import type { Attributes } from './attribute-lookup.js';
import { cleanName, cleanText } from './storable-json.js';

const none = {
  toolErrors: null,
  semanticPattern: null,
  semanticSeverity: null,
  semanticSource: null,
  semanticSnippet: null,
  semanticCallId: null,
} satisfies Partial<SpanRow>;
type Failures = Pick<SpanRow, keyof typeof none>;
/** Spans of our own analysis talk about the errors of others. */
const ownLabel = 'analyze_with_llm';
const most = { toolErrors: 5, name: 256, message: 500 };

/** The errors reported in a span's texts. */
export function failuresIn({ outputs, toolMessages, toolCallId }: SpanTexts, label: string | null): Failures {
  if (label === ownLabel) return none;
  const finding = findInSpan(
    outputs,
    toolMessages.map(({ text }) => text),
  );
  const errors = toolMessages.flatMap((message) => toolErrorOf(message, finding !== undefined));
  const toolErrors = errors.length > 0 ? errors.slice(0, most.toolErrors) : null;
  if (!finding) return { ...none, toolErrors };
  const callId = finding.source === 'input' ? toolMessages[finding.index]?.toolCallId : toolCallId;
  return {
    toolErrors,
    semanticPattern: finding.pattern,
    semanticSeverity: finding.severity,
    semanticSource: finding.source,
    semanticSnippet: cleanText(finding.snippet),
    semanticCallId: callId === undefined ? null : cleanName(callId, most.name),
  };
}

/** Ignores answers that only look unusual. @param searched whether a text of the span reports an error */
function toolErrorOf({ text, toolName, toolCallId }: ToolMessage, searched: boolean): ToolMessageError[] {
  const unknown = unknownTool.exec(text.slice(0, maxReportLength))?.[1];
  const isSevere = searched && findSemanticError(text)?.severity === 'high';
  if (unknown === undefined && !isSevere) return [];
  const name = toolName ?? unknown;
  return [
    {
      ...(name !== undefined && { tool_name: cleanName(name, most.name) }),
      ...(toolCallId !== undefined && { tool_call_id: cleanName(toolCallId, most.name) }),
      message: cleanName(text, most.message),
    },
  ];
}

/** A model requested a tool that does not exist, which may be visible only in the answer. */
const unknownTool = /\b(?:unknown|no such) (?:tool|function)(?: named)?:?\s+["'`]?([\w.-]{1,128})/i;
/** Longer answers have such words for their subject. */
const maxReportLength = 300;

/** A span's word that the execution which it names answered with the report of a failure. */
export interface ReportedFailure {
  readonly executionId: string;
  /** The API key that sent the span. */
  readonly keyId: string;
  /** The excerpt of the answer that shows it, redacted. */
  readonly reason: string;
}

/** Most spans return early; only severe findings with an execution id re-read the text. */
export function reportedFailure(row: SpanRow): ReportedFailure | undefined {
  const { executionId, keyId, kind, semanticSeverity: severity, semanticSnippet: reason } = row;
  if (executionId === null || keyId === null || reason === null) return undefined;
  if (kind !== 'tool' || severity !== 'high') return undefined;
  const { output } = spanTextsOf({ kind, attribute: JSON.parse(row.attributes) as Attributes });
  return isSelfReported(output, { severity }) ? { executionId, keyId, reason } : undefined;
}
