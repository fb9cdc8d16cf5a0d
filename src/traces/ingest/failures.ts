import { findInSpan } from '../../semantic-errors/find-in-span.js';
import { findSemanticError } from '../../semantic-errors/find-semantic-error.js';
import type { SpanRow, ToolMessageError } from '../span-row.js';
import type { SpanTexts, ToolMessage } from './span-texts.js';
import { cleanName, cleanText } from './storable-json.js';

type Failures = Pick<
  SpanRow,
  | 'toolErrors'
  | 'semanticPattern'
  | 'semanticSeverity'
  | 'semanticSource'
  | 'semanticSnippet'
  | 'semanticCallId'
>;

const none: Failures = {
  toolErrors: null,
  semanticPattern: null,
  semanticSeverity: null,
  semanticSource: null,
  semanticSnippet: null,
  semanticCallId: null,
};
/** Spans of our own analysis talk about the errors of others. */
const ownLabel = 'analyze_with_llm';
const most = { toolErrors: 5, name: 256, message: 500 };

/** The errors that a span's texts tell of. */
export function failuresIn({ outputs, toolMessages, toolCallId }: SpanTexts, label: string | null): Failures {
  if (label === ownLabel) return none;
  const finding = findInSpan({ outputs, toolMessages: toolMessages.map(({ text }) => text) });
  if (!finding) return none;
  const callId = finding.source === 'input' ? toolMessages[finding.index]?.toolCallId : toolCallId;
  const toolErrors = toolMessages.flatMap(toolErrorOf).slice(0, most.toolErrors);
  return {
    toolErrors: toolErrors.length > 0 ? toolErrors : null,
    semanticPattern: finding.pattern,
    semanticSeverity: finding.severity,
    semanticSource: finding.source,
    semanticSnippet: cleanText(finding.snippet),
    semanticCallId: callId === undefined ? null : cleanName(callId, most.name),
  };
}

/** An answer that only looks odd is no error of the call. */
function toolErrorOf({ text, toolName = unknownTool(text), toolCallId }: ToolMessage): ToolMessageError[] {
  if (findSemanticError(text)?.severity !== 'high') return [];
  return [
    {
      ...(toolName !== undefined && { tool_name: cleanName(toolName, most.name) }),
      ...(toolCallId !== undefined && { tool_call_id: cleanName(toolCallId, most.name) }),
      message: cleanName(text, most.message),
    },
  ];
}

/** A model that asks for a tool that there is not: nobody else names it. */
const unknownTool = (text: string): string | undefined =>
  /\bunknown tool:?\s+["'`]?([\w.-]{1,128})/i.exec(text)?.[1];
