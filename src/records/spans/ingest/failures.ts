import { findInSpan, findSemanticError } from '../../../base/semantic-errors/find-semantic-error.js';
import { isSelfReported } from '../../../base/semantic-errors/self-reported.js';
import type { ToolMessage } from './message-parts.js';
import { type SpanTexts, spanContentsOf } from './span-texts.js';
import type { SpanRow, ToolMessageError } from '../span-row.js';
import type { Attributes } from './attribute-lookup.js';
import { cleanName, cleanText } from './storable-json.js';

const noFailures = {
  toolErrors: null,
  semanticPattern: null,
  semanticSeverity: null,
  semanticSource: null,
  semanticSnippet: null,
  semanticCallId: null,
} satisfies Partial<SpanRow>;
/** The columns of a span that describe reported failures. */
type Failures = Pick<SpanRow, keyof typeof noFailures>;
/** Label of spans of the tool `analyze_with_llm`. They are skipped, because they discuss errors of other spans. */
const analysisLabel = 'analyze_with_llm';
/** Max errors, and max characters of texts in columns. */
const max = { toolErrors: 5, name: 256, message: 500 };

/** The failures that a span's texts report. */
export function failuresIn({ outputs, toolMessages, toolCallId }: SpanTexts, label: string | null): Failures {
  if (label === analysisLabel) return noFailures;
  const finding = findInSpan(
    outputs,
    toolMessages.map(({ text }) => text),
  );
  const errors = toolMessages.flatMap((message) => toolErrorIn(message, finding !== undefined));
  const toolErrors = errors.length > 0 ? errors.slice(0, max.toolErrors) : null;
  if (!finding) return { ...noFailures, toolErrors };
  const callId = finding.source === 'input' ? toolMessages[finding.index]?.toolCallId : toolCallId;
  return {
    toolErrors,
    semanticPattern: finding.pattern,
    semanticSeverity: finding.severity,
    semanticSource: finding.source,
    semanticSnippet: cleanText(finding.snippet),
    semanticCallId: callId === undefined ? null : cleanName(callId, max.name),
  };
}

/**
 * The error in a tool's result: a severe finding, or the report that the tool does not exist. Empty without one.
 * @param hasFinding whether some text of the span has a finding; if none has, this text is not searched again
 */
function toolErrorIn({ text, toolName, toolCallId }: ToolMessage, hasFinding: boolean): ToolMessageError[] {
  const missingTool = unknownTool.exec(text.slice(0, maxReportLength))?.[1];
  const isSevere = hasFinding && findSemanticError(text)?.severity === 'high';
  if (missingTool === undefined && !isSevere) return [];
  const name = toolName ?? missingTool;
  return [
    {
      ...(name !== undefined && { tool_name: cleanName(name, max.name) }),
      ...(toolCallId !== undefined && { tool_call_id: cleanName(toolCallId, max.name) }),
      message: cleanName(text, max.message),
    },
  ];
}

/** The message of an agent to a model that requested a tool which does not exist. */
const unknownTool = /\b(?:unknown|no such) (?:tool|function)(?: named)?:?\s+["'`]?([\w.-]{1,128})/i;
/** Number of first characters that are searched for this message. Further in, a long result may just be about such errors. */
const maxReportLength = 300;

/** A span's report that an execution of ours, which the span names, had a failure in its result. */
export interface ReportedFailure {
  readonly executionId: string;
  /** The API key that sent the span. */
  readonly keyId: string;
  /** The redacted excerpt of the result that reports the failure. */
  readonly reason: string;
}

/** The failure of an execution that a span reports, if any. Reads the text again only for the few spans that may report one. */
export function reportedFailure(row: SpanRow): ReportedFailure | undefined {
  const { executionId, keyId, kind, semanticSeverity: severity, semanticSnippet: reason } = row;
  if (executionId === null || keyId === null || reason === null) return undefined;
  if (kind !== 'tool' || severity !== 'high') return undefined;
  const { output } = spanContentsOf({ kind, attribute: JSON.parse(row.attributes) as Attributes });
  return isSelfReported(output, { severity }) ? { executionId, keyId, reason } : undefined;
}
