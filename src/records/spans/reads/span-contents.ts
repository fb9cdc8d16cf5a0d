import { AttributeLookup, type Attributes, fromJson } from '../ingest/attribute-lookup.js';
import type { Field } from '../ingest/attribute-names.js';

/** A span's input and output as text; empty where it carried none. */
export interface SpanContents {
  readonly input: string;
  readonly output: string;
}

const ofModel = ["a model's messages", "a model's answer", "a model's tool calls"] as const;
const ofTool = ["a tool's arguments", "a tool's result"] as const;

/** Reads a span's contents in whichever dialect it was sent. */
export function spanTextsOf({
  kind,
  attribute = {},
}: {
  readonly kind: string;
  readonly attribute?: Attributes;
}): SpanContents {
  const attributes = new AttributeLookup(attribute);
  const text = (...fields: readonly Field[]): string => {
    const found = fields
      .map((field) => fromJson(attributes.find(field)))
      .find((value) => value !== undefined);
    return typeof found === 'string' ? found : found === undefined ? '' : JSON.stringify(found);
  };
  const [messages, answer, calls] = ofModel;
  const [given, result] = ofTool;
  if (kind === 'llm')
    return { input: text(messages), output: [text(answer), text(calls)].filter(Boolean).join('\n') };
  if (kind === 'tool') return { input: text(given), output: text(result) };
  return { input: text(messages, given), output: text(answer, result) };
}

/** Spans around a model call, or of something else, whatever their kind says. */
const notTheCall = new Set(['cloud_api_invoke', 'model_call', 'tool_call', 'tools', 'run', 'agent']);

/** Whether a span's request may be tried again with changes: it is the call of a model itself. */
export const isOptimizable = (span: { readonly kind: string; readonly operation_name: string }): boolean =>
  span.kind === 'llm' &&
  span.operation_name !== '' &&
  !notTheCall.has(span.operation_name) &&
  !span.operation_name.startsWith('guard_');
