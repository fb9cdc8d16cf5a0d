import { isObject } from '../../../base/common/json.js';
import type { SpanKind } from '../span-row.js';
import { type AttributeLookup, type Attributes, fromJson, memberOf } from './attribute-lookup.js';
import type { Field } from './attribute-names.js';
import {
  type AskedTool,
  callsIn,
  itemsIn,
  resultsSinceModel,
  textMember,
  textOf,
  type ToolMessage,
  unwrapped,
  wordsOf,
  written,
} from './message-parts.js';
import { storedLookup } from './span-events.js';

/** The texts of a span in which failures may stand, and the tools that a model asked for in it. */
export interface SpanTexts {
  readonly outputs: readonly string[];
  /** The tool call that the outputs are the result of. */
  readonly toolCallId?: string;
  /** Those since the model's last turn: the earlier ones stood in an earlier span already. */
  readonly toolMessages: readonly ToolMessage[];
  readonly toolCalls: readonly AskedTool[];
}

const most = { outputs: 8, toolCalls: 64 };
const nothing: SpanTexts = { outputs: [], toolMessages: [], toolCalls: [] };

/** Reads the messages of every dialect by the members that they have in common. */
export function textsOf(kind: SpanKind, attributes: AttributeLookup): SpanTexts {
  if (kind === 'tool') {
    const result = resultIn(attributes.find("a tool's result"));
    const toolCallId = attributes.text("a tool call's id");
    if (result === undefined) return nothing;
    return { ...nothing, outputs: [textOf(result)], ...(toolCallId !== null && { toolCallId }) };
  }
  if (kind !== 'llm') return nothing;
  const answers = itemsIn(fromJson(attributes.find("a model's answer")));
  const said = answers.flatMap(callsIn);
  const calls =
    said.length > 0 ? said : callsIn({ tool_calls: fromJson(attributes.find("a model's tool calls")) });
  return {
    outputs: answers.map(wordsOf).filter(Boolean).slice(0, most.outputs),
    toolMessages: resultsSinceModel(itemsIn(fromJson(attributes.find("a model's messages")))),
    toolCalls: calls.slice(0, most.toolCalls),
  };
}

/** A span's input and output as text; empty if it carried none. */
export interface SpanContents {
  readonly input: string;
  readonly output: string;
}

/** Arguments of a tool as a value; Python's decorators write them as `args` and `kwargs`. */
export function argumentsOf(given: unknown): unknown {
  const value = fromJson(given);
  const [positional, named] = [memberOf(value, 'args'), memberOf(value, 'kwargs')];
  return Array.isArray(positional) && positional.length === 0 && isObject(named) ? named : value;
}

/** A tool's result as a value: of LangChain's messages the content, of a text in JSON the text. */
function resultIn(given: unknown): unknown {
  const value = fromJson(given);
  const literal = typeof value === 'string' ? fromJson(`[${value}]`) : undefined;
  if (Array.isArray(literal) && literal.length === 1 && typeof literal[0] === 'string') return literal[0];
  const message = unwrapped(memberOf(value, 'output') ?? value);
  const content = memberOf(message, 'content');
  return textMember(message, 'type') === 'tool' && content !== undefined ? content : value;
}

/** Instructions that stand beside the messages come first among them. */
function conversationIn(attributes: AttributeLookup): unknown {
  const messages = fromJson(attributes.find("a model's messages"));
  const content = fromJson(attributes.find("a model's instructions"));
  const list = itemsIn(messages);
  const instructs = list.some((message) => /^(system|developer)$/.test(textMember(message, 'role') ?? ''));
  return content === undefined || instructs ? messages : [{ role: 'system', content }, ...list];
}

/** Reads a span's contents in whichever dialect it was sent. */
export function spanTextsOf(span: { readonly kind: string; readonly attribute?: Attributes }): SpanContents {
  const attributes = storedLookup(span.attribute ?? {});
  const value = (field: Field): unknown => fromJson(attributes.find(field));
  const [answer, calls] = [value("a model's answer"), value("a model's tool calls")];
  const input = conversationIn(attributes);
  if (span.kind === 'llm') {
    const outputs = [...new Set([answer, calls])].map((each) => written(each)).filter(Boolean);
    return { input: written(input), output: outputs.join('\n') };
  }
  const given = argumentsOf(value("a tool's arguments"));
  const result = resultIn(value("a tool's result"));
  if (span.kind === 'tool') return { input: written(given), output: written(result) };
  return { input: written(input ?? given), output: written(answer ?? result) };
}
