import { isObject } from '../../../base/common/json.js';
import type { SpanKind } from '../span-row.js';
import { type AttributeLookup, type Attributes, fromJson, memberOf } from './attribute-lookup.js';
import type { Field } from './attribute-names.js';
import {
  asText,
  callsIn,
  itemsIn,
  messageText,
  type RequestedTool,
  resultsSinceModel,
  textMember,
  textOf,
  type ToolMessage,
  unwrapped,
} from './message-parts.js';
import { storedLookup } from './span-events.js';

/** The texts of a span that may report failures, and its tool calls. */
export interface SpanTexts {
  /** A tool's result, or the texts of a model's answers. */
  readonly outputs: readonly string[];
  /** The id of the tool call whose result is in `outputs`. */
  readonly toolCallId?: string;
  /** Tool results since the model's last turn. Earlier ones are in the span of that turn already. */
  readonly toolMessages: readonly ToolMessage[];
  /** Tool calls that the model requested. */
  readonly toolCalls: readonly RequestedTool[];
}

/** Max outputs and tool calls of a span that are read. */
const max = { outputs: 8, toolCalls: 64 };
const noTexts: SpanTexts = { outputs: [], toolMessages: [], toolCalls: [] };

/** Reads the texts of a tool's or a model call's span, in any dialect. */
export function textsOf(kind: SpanKind, attributes: AttributeLookup): SpanTexts {
  if (kind === 'tool') {
    const result = resultIn(attributes.find("a tool's result"));
    const toolCallId = attributes.text("a tool call's id");
    if (result === undefined) return noTexts;
    return { ...noTexts, outputs: [textOf(result)], ...(toolCallId !== null && { toolCallId }) };
  }
  if (kind !== 'llm') return noTexts;
  const answers = itemsIn(fromJson(attributes.find("a model's answer")));
  const callsInAnswers = answers.flatMap(callsIn);
  const calls =
    callsInAnswers.length > 0
      ? callsInAnswers
      : callsIn({ tool_calls: fromJson(attributes.find("a model's tool calls")) });
  return {
    outputs: answers.map(messageText).filter(Boolean).slice(0, max.outputs),
    toolMessages: resultsSinceModel(itemsIn(fromJson(attributes.find("a model's messages")))),
    toolCalls: calls.slice(0, max.toolCalls),
  };
}

/** A tool's arguments, parsed. Decorators of Python libraries record them as `args` and `kwargs`. */
export function argumentsOf(given: unknown): unknown {
  const value = fromJson(given);
  const [positional, named] = [memberOf(value, 'args'), memberOf(value, 'kwargs')];
  return Array.isArray(positional) && positional.length === 0 && isObject(named) ? named : value;
}

/** A tool's result, parsed. Of a LangChain message, its content. */
function resultIn(given: unknown): unknown {
  const value = fromJson(given);
  // A JSON string in quotes: `fromJson` parses only objects and lists.
  const inList = typeof value === 'string' ? fromJson(`[${value}]`) : undefined;
  if (Array.isArray(inList) && inList.length === 1 && typeof inList[0] === 'string') return inList[0];
  const message = unwrapped(memberOf(value, 'output') ?? value);
  const content = memberOf(message, 'content');
  return textMember(message, 'type') === 'tool' && content !== undefined ? content : value;
}

/** The messages to a model. Instructions in an attribute of their own become the first message, unless there is one. */
function conversationIn(attributes: AttributeLookup): unknown {
  const messages = fromJson(attributes.find("a model's messages"));
  const content = fromJson(attributes.find("a model's instructions"));
  const list = itemsIn(messages);
  const hasInstructions = list.some((message) =>
    /^(system|developer)$/.test(textMember(message, 'role') ?? ''),
  );
  return content === undefined || hasInstructions ? messages : [{ role: 'system', content }, ...list];
}

/** A span's input and output as text; empty if it has none. */
export interface SpanContents {
  readonly input: string;
  readonly output: string;
}

/** The input and output of a stored span, in any dialect: messages and answer of a model, or arguments and result of a tool. */
export function spanContentsOf(span: {
  readonly kind: string;
  readonly attribute?: Attributes;
}): SpanContents {
  const attributes = storedLookup(span.attribute ?? {});
  const value = (field: Field): unknown => fromJson(attributes.find(field));
  const [answer, calls] = [value("a model's answer"), value("a model's tool calls")];
  const input = conversationIn(attributes);
  if (span.kind === 'llm') {
    const outputs = [...new Set([answer, calls])].map((each) => asText(each)).filter(Boolean);
    return { input: asText(input), output: outputs.join('\n') };
  }
  const given = argumentsOf(value("a tool's arguments"));
  const result = resultIn(value("a tool's result"));
  if (span.kind === 'tool') return { input: asText(given), output: asText(result) };
  return { input: asText(input ?? given), output: asText(answer ?? result) };
}
