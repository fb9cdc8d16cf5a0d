import { isObject } from '../../../base/common/json.js';
import { jsonExcerpt } from '../../../base/common/json-depth.js';
import type { MessageView } from '../reads/trace-views.dto.js';
import type { SpanKind } from '../span-row.js';
import { type AttributeLookup, type Attributes, fromJson, memberOf } from './attribute-lookup.js';
import type { Field } from './attribute-names.js';
import { storedLookup } from './span-events.js';

/** A tool's answer that a model was given. */
export interface ToolMessage {
  readonly toolName: string | undefined;
  readonly toolCallId: string | undefined;
  readonly text: string;
}

/** A tool that a model asked for. */
export interface AskedTool {
  readonly name: string;
  /** Arguments as the model wrote them: a value, or its JSON as text. */
  readonly arguments: unknown;
}

/** The texts of a span in which failures may stand, and the tools that a model asked for in it. */
export interface SpanTexts {
  readonly outputs: readonly string[];
  /** The tool call that the outputs are the result of. */
  readonly toolCallId?: string;
  /** Those since the model's last turn: the earlier ones stood in an earlier span already. */
  readonly toolMessages: readonly ToolMessage[];
  readonly toolCalls: readonly AskedTool[];
}

const maxTextLength = 1_048_576;
const most = { outputs: 8, toolMessages: 16, toolCalls: 64, messages: 4_096, parts: 256 };
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
    toolMessages: toolMessagesIn(itemsIn(fromJson(attributes.find("a model's messages")))),
    toolCalls: calls.slice(0, most.toolCalls),
  };
}

/** Members of a request or an answer that hold its messages. */
const lists = ['messages', 'input', 'contents', 'choices', 'output', 'generations', 'candidates'];

/** The messages of a list, a request or an answer; LangChain has a list in the list. */
function itemsIn(value: unknown): unknown[] {
  if (value === undefined || value === '') return [];
  const found = [value, ...lists.map((name) => memberOf(value, name))].find((each) => Array.isArray(each));
  const items = (found as unknown[] | undefined) ?? [value];
  return items.slice(-most.messages).flat().map(unwrapped);
}

const roles = new Map(Object.entries({ human: 'user', ai: 'assistant', model: 'assistant' }));

/**
 * A message out of what stands around it: a choice's `message`, LangChain's `kwargs` or `data`, a Gemini candidate's
 * `content`.
 */
export function unwrapped(value: unknown): unknown {
  let message = value;
  for (let level = 0; level < 3; level++) {
    const content = memberOf(message, 'content');
    const inner = ['message', 'kwargs', 'data'].map((name) => memberOf(message, name)).find(isObject);
    message = inner ?? (memberOf(content, 'parts') === undefined ? message : content);
  }
  if (!isObject(message)) return message;
  const [said, type] = [textMember(message, 'role'), textMember(message, 'type') ?? ''];
  const role = roles.get(said ?? type) ?? said ?? (/^(tool|system)$/.test(type) ? type : undefined);
  return role === said ? message : { ...message, role };
}

const listOf = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value.slice(-most.messages) as unknown[];
  // A list that was written flat within another one.
  return typeof value === 'object' && value !== null ? Object.values(value).slice(0, most.parts) : [];
};

const callTypes = new Set(['tool_call', 'tool-call', 'tool_use', 'function_call', 'function']);
const resultTypes = new Set(['tool_call_response', 'tool-result', 'tool_result', 'function_call_output']);

/** The first of the members that is there and not null. */
const firstOf = (value: unknown, ...names: readonly string[]): unknown =>
  names.map((name) => memberOf(value, name)).find((member) => member !== undefined && member !== null);

/** The first of the members that is a text, and not empty. */
const textMember = (value: unknown, ...names: readonly string[]): string | undefined => {
  for (const name of names) {
    const member = memberOf(value, name);
    if (typeof member === 'string' && member !== '') return member;
  }
  return undefined;
};

/** Members that hold a part as a whole, with its type. */
const partMembers = {
  tool_call: 'tool_call',
  toolUse: 'tool_call',
  functionCall: 'tool_call',
  function_call: 'tool_call',
  toolResult: 'tool_result',
  functionResponse: 'tool_result',
  function_response: 'tool_result',
  message_content: undefined,
};

const partLists = ['content', 'parts', 'contents', 'tool_calls', 'toolCalls'];
/** A message's parts, and the message itself, which may be one. */
function partsOf(message: unknown): unknown[] {
  const parts = partLists.map((name) => memberOf(message, name)).flatMap(listOf);
  return [message, ...parts.slice(0, most.parts)].map(partIn);
}

function partIn(part: unknown): unknown {
  for (const [name, type] of Object.entries(partMembers)) {
    const inner = memberOf(part, name);
    if (isObject(inner)) return type === undefined ? inner : { type, ...inner };
  }
  return part;
}

interface Called extends AskedTool {
  readonly id: string | undefined;
}

/** Tools that a model asked for in a message. */
export function callsIn(message: unknown): Called[] {
  return partsOf(message).flatMap((part, at) => {
    const type = textMember(part, 'type');
    const inner = memberOf(part, 'function') ?? part;
    const isUntyped = type === undefined && (at > 0 || memberOf(part, 'toolName') !== undefined);
    const isCall = inner !== part || isUntyped || callTypes.has(type ?? '');
    const name = isCall ? textMember(inner, 'name', 'toolName') : undefined;
    if (name === undefined) return [];
    return { id: callIdOf(part), name: name.slice(0, 256), arguments: argumentsIn(inner) };
  });
}

const argumentsIn = (call: unknown): unknown => firstOf(call, 'arguments', 'args', 'input');

const isResult = (part: unknown): boolean => resultTypes.has(textMember(part, 'type') ?? '');

/** The result that the part of a message holds. */
const resultOf = (part: unknown): unknown => firstOf(part, 'result', 'response', 'output', 'content');

/** The id of a call, in its own part or in the part with its result. */
const callIdOf = (part: unknown): string | undefined =>
  textMember(part, 'tool_call_id', 'toolCallId', 'toolUseId', 'tool_use_id', 'call_id', 'id');

function toolMessagesIn(messages: readonly unknown[]): ToolMessage[] {
  const names = new Map<string, string>();
  let found: ToolMessage[] = [];
  for (const message of messages) {
    const role = textMember(message, 'role');
    const calls = role === 'tool' ? [] : callsIn(message);
    for (const { id, name } of calls) if (id !== undefined) names.set(id, name);
    const results = resultsIn(message, names);
    const isModels = role === 'assistant' || (calls.length > 0 && results.length === 0);
    // Calls that follow each other are one turn.
    found = isModels ? [] : [...found, ...results].slice(-most.toolMessages);
  }
  return found;
}

/** Tools' answers in a message. @param names of tools by the id of their call */
export function resultsIn(message: unknown, names: ReadonlyMap<string, string> = new Map()): ToolMessage[] {
  const parts = partsOf(message).filter(isResult);
  const isTools = /^(tool|function)$/.test(textMember(message, 'role') ?? '');
  const results = parts.length === 0 && isTools ? [message] : parts;
  return results.map((part) => {
    const toolCallId = callIdOf(part) ?? callIdOf(message);
    const toolName = textMember(part, 'toolName', 'name') ?? names.get(toolCallId ?? '');
    return { toolName, toolCallId, text: textOf(resultOf(part) ?? '') };
  });
}

/** The text of a content in any of its forms; of something else its JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    const texts = value.map((each) =>
      typeof each === 'string' ? each : textMember(each, 'text', 'content'),
    );
    if (texts.some((text) => text !== undefined)) return texts.join('\n');
  }
  const inner = textMember(value, 'type') && (memberOf(value, 'value') ?? memberOf(value, 'text'));
  if (typeof inner === 'string') return inner;
  return value === undefined || value === null ? '' : jsonExcerpt(inner ?? value, maxTextLength);
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

const written = (value: unknown, indent?: number): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, null, indent);

/** The messages of a model call in one form for all dialects, results at the calls that asked for them; the call of a tool. */
export function messagesOf(kind: string, { input = '', output = '' }: Partial<SpanContents>): MessageView[] {
  const itself = { id: null, name: '', input, result: output || null };
  if (kind === 'tool') return [{ role: 'tool', text: '', calls: [itself], answers: null }];
  if (kind !== 'llm') return [];
  const asked = itemsIn(fromJson(input)).flatMap((each) => viewsOf(each, 'user'));
  const lines = output.split('\n').map(fromJson);
  const answers = lines.every((line) => isObject(line) || Array.isArray(line)) ? lines : [fromJson(output)];
  const said = answers.flatMap(itemsIn).flatMap((each) => viewsOf(each, 'assistant'));
  return paired([...asked, ...said]);
}

/** Puts each result at the call that asked for it, and takes it out of the list. */
function paired(messages: readonly MessageView[]): MessageView[] {
  const results = new Map(messages.map(({ answers, text }) => [answers, text]));
  const asked = new Set(messages.flatMap(({ calls }) => calls.map(({ id }) => id)));
  return messages
    .filter(({ answers }) => answers === null || !asked.has(answers))
    .map(({ calls, ...message }) => ({
      ...message,
      calls: calls.map((call) => ({ ...call, result: (call.id !== null && results.get(call.id)) || null })),
    }));
}

/** A message that says something, and the results of tools in it, each as one of its own. */
function viewsOf(message: unknown, role: string): MessageView[] {
  const results = resultsIn(message).map(({ toolCallId, text }) => ({
    role: 'tool',
    text,
    calls: [],
    answers: toolCallId ?? '',
  }));
  const own = textMember(message, 'role') ?? role;
  const text = results.length > 0 && /^(tool|function)$/.test(own) ? '' : wordsOf(message);
  const calls = callsIn(message).map(({ id = null, name, arguments: given }) => ({
    ...{ id, name, input: written(given, 2), result: null },
  }));
  if (text !== '' || calls.length > 0) return [...results, { role: own, text, calls, answers: null }];
  return results;
}

/** The words of a message, without the calls that it asked for. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const content = firstOf(value, 'content', 'parts', 'contents', 'text');
  if (typeof content === 'string') return content;
  if (typeof content === 'object') return listOf(content).map(textOfPart).filter(Boolean).join('\n');
  const saysNothing = textMember(value, 'role') !== undefined || isResult(value);
  return saysNothing || callsIn(value).length > 0 ? '' : textOf(value);
}

function textOfPart(given: unknown): string {
  const part = partIn(given);
  if (typeof part === 'string') return part;
  return isResult(part) ? '' : (textMember(part, 'text', 'content') ?? '');
}

/** Spans around a model call, or of something else, whatever their kind says. */
const notTheCall = new Set(['cloud_api_invoke', 'model_call', 'tool_call', 'tools', 'run', 'agent']);

/** Whether a span's request may be tried again with changes: it is the call of a model itself. */
export const isOptimizable = (span: { readonly kind: string; readonly operation_name: string }): boolean =>
  span.kind === 'llm' &&
  span.operation_name !== '' &&
  !notTheCall.has(span.operation_name) &&
  !span.operation_name.startsWith('guard_');
