import { isObject } from '../../../base/common/json.js';
import { jsonExcerpt } from '../../../base/common/json-depth.js';
import type { MessageView } from '../reads/trace-views.dto.js';
import type { SpanKind } from '../span-row.js';
import { AttributeLookup, type Attributes, fromJson, memberOf } from './attribute-lookup.js';
import type { Field } from './attribute-names.js';

/** A tool's answer that a model was given. */
export interface ToolMessage {
  readonly toolName?: string;
  readonly toolCallId?: string;
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
    const result = attributes.find("a tool's result");
    const toolCallId = attributes.text("a tool call's id");
    if (result === undefined) return nothing;
    return { ...nothing, outputs: [textOf(fromJson(result))], ...(toolCallId !== null && { toolCallId }) };
  }
  if (kind !== 'llm') return nothing;
  const answers = answersIn(fromJson(attributes.find("a model's answer")));
  const calls = [...answers, { tool_calls: fromJson(attributes.find("a model's tool calls")) }].flatMap(
    callsIn,
  );
  return {
    outputs: answers.map(answerText).filter(Boolean).slice(0, most.outputs),
    toolMessages: toolMessagesIn(messagesIn(fromJson(attributes.find("a model's messages")))),
    toolCalls: calls.slice(0, most.toolCalls),
  };
}

/** The list itself, the messages of a request, or one message. */
function messagesIn(value: unknown): unknown[] {
  const found = memberOf(value, 'messages') ?? memberOf(value, 'input') ?? value;
  return listOf(found).slice(-most.messages).map(unwrapped);
}

/** Choices of a completion, the outputs of a response, messages, or one text. */
function answersIn(value: unknown): unknown[] {
  if (value === undefined) return [];
  const found = memberOf(value, 'choices') ?? memberOf(value, 'output') ?? value;
  return (Array.isArray(found) ? found : [found]).slice(0, most.messages).map(unwrapped);
}

const unwrapped = (value: unknown): unknown => memberOf(value, 'message') ?? value;

const listOf = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value.slice(-most.messages) as unknown[];
  // A list that was written flat within another one.
  return typeof value === 'object' && value !== null ? Object.values(value).slice(0, most.parts) : [];
};

const callTypes = new Set(['tool_call', 'tool-call', 'tool_use', 'function_call', 'function']);
const resultTypes = new Set(['tool_call_response', 'tool-result', 'tool_result', 'function_call_output']);

/** The first of the members that is there. */
const firstOf = (value: unknown, ...names: readonly string[]): unknown =>
  names.map((name) => memberOf(value, name)).find((member) => member !== undefined);

/** The first of the members that is a text, and not empty. */
const textMember = (value: unknown, ...names: readonly string[]): string | undefined => {
  for (const name of names) {
    const member = memberOf(value, name);
    if (typeof member === 'string' && member !== '') return member;
  }
  return undefined;
};

/** A message's parts, and the message itself, which may be one. */
function partsOf(message: unknown): unknown[] {
  const lists = ['content', 'parts', 'tool_calls', 'contents'].map((name) => memberOf(message, name));
  const parts = lists.filter((list) => typeof list === 'object' && list !== null).flatMap(listOf);
  return [message, ...parts.slice(0, most.parts)].map((part) => memberOf(part, 'tool_call') ?? part);
}

interface Called extends AskedTool {
  readonly id: string | undefined;
}

/** Tools that a model asked for in a message. */
export function callsIn(message: unknown): Called[] {
  return partsOf(message).flatMap((part, at) => {
    const type = textMember(part, 'type');
    const inner = memberOf(part, 'function') ?? part;
    const isCall = inner !== part || (type !== undefined ? callTypes.has(type) : at > 0);
    const name = isCall ? textMember(inner, 'name', 'toolName') : undefined;
    return name === undefined
      ? []
      : [{ id: callIdOf(part), name: name.slice(0, 256), arguments: argumentsIn(inner) }];
  });
}

const argumentsIn = (call: unknown): unknown => firstOf(call, 'arguments', 'args', 'input');

/** The result that the part of a message holds. */
const resultOf = (part: unknown): unknown => firstOf(part, 'result', 'response', 'output', 'content');

/** The id of a call, in its own part or in the part with its result. */
const callIdOf = (part: unknown): string | undefined =>
  textMember(part, 'tool_call_id', 'toolCallId', 'tool_use_id', 'call_id', 'id');

function toolMessagesIn(messages: readonly unknown[]): ToolMessage[] {
  const names = new Map<string, string>();
  let found: ToolMessage[] = [];
  for (const message of messages) {
    const calls = textMember(message, 'role') === 'tool' ? [] : callsIn(message);
    for (const { id, name } of calls) if (id !== undefined) names.set(id, name);
    const results = resultsIn(message, names);
    const isModels =
      textMember(message, 'role') === 'assistant' || (calls.length > 0 && results.length === 0);
    // Calls that follow each other are one turn.
    found = isModels ? [] : [...found, ...results].slice(-most.toolMessages);
  }
  return found;
}

/** Tools' answers in a message. @param names of tools by the id of their call */
export function resultsIn(message: unknown, names: ReadonlyMap<string, string> = new Map()): ToolMessage[] {
  const parts = partsOf(message).filter((part) => resultTypes.has(textMember(part, 'type') ?? ''));
  const results = parts.length === 0 && textMember(message, 'role') === 'tool' ? [message] : parts;
  return results.map((part) => {
    const toolCallId = callIdOf(part) ?? callIdOf(message);
    const toolName = textMember(part, 'toolName', 'name') ?? names.get(toolCallId ?? '');
    return {
      ...(toolName !== undefined && { toolName }),
      ...(toolCallId !== undefined && { toolCallId }),
      text: textOf(resultOf(part) ?? ''),
    };
  });
}

/** The words of a model, without the calls that it asked for. */
function answerText(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  const candidates = ['content', 'parts', 'text'].map((name) => memberOf(answer, name));
  const content = candidates.find((value) => value !== undefined && value !== null);
  if (content !== undefined) return textOf(content);
  return callsIn(answer).length > 0 || textMember(answer, 'role') !== undefined ? '' : textOf(answer);
}

/** The text of a content in any of its forms; of something else its JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (
    Array.isArray(value) &&
    value.some((part) => typeof part === 'string' || textMember(part, 'text', 'content'))
  ) {
    return value
      .map((part) => (typeof part === 'string' ? part : (textMember(part, 'text', 'content') ?? '')))
      .join('\n');
  }
  const inner =
    textMember(value, 'type') === undefined
      ? undefined
      : (memberOf(value, 'value') ?? memberOf(value, 'text'));
  if (typeof inner === 'string') return inner;
  return value === undefined || value === null ? '' : jsonExcerpt(inner ?? value, maxTextLength);
}

/** A span's input and output as text; empty if it carried none. */
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

/** The messages of a model call in one form for all dialects, results at the calls that asked for them; the call of a tool. */
export function messagesOf(kind: string, { input = '', output = '' }: Partial<SpanContents>): MessageView[] {
  if (kind === 'tool')
    return [
      {
        role: 'tool',
        text: '',
        calls: [{ id: null, name: '', input, result: output || null }],
        answers: null,
      },
    ];
  if (kind !== 'llm') return [];
  const asked = listIn(fromJson(input), ['messages', 'input', 'contents']).map((each) =>
    messageOf(each, 'user'),
  );
  const lines = output.split('\n').map(fromJson);
  const answers = lines.every((line) => isObject(line) || Array.isArray(line)) ? lines : [fromJson(output)];
  const said = answers
    .flatMap((answer) => listIn(answer, ['choices', 'output', 'content', 'candidates']))
    .map((each) => messageOf(each, 'assistant'));
  const all = [...asked, ...said];
  return paired(
    all.filter(({ text, calls, answers: call }) => text !== '' || calls.length > 0 || call !== null),
  );
}

/** Puts each result at the call that asked for it, and takes it out of the list. */
function paired(messages: readonly MessageView[]): MessageView[] {
  const results = new Map(messages.map(({ answers, text }) => [answers, text]));
  const asked = new Set(messages.flatMap(({ calls }) => calls.map(({ id }) => id)));
  return messages
    .filter(({ answers }) => answers === null || !asked.has(answers))
    .map((message) => ({
      ...message,
      calls: message.calls.map((call) => ({
        ...call,
        result: (call.id !== null && results.get(call.id)) || null,
      })),
    }));
}

function listIn(value: unknown, members: readonly string[]): readonly unknown[] {
  if (value === '') return [];
  if (Array.isArray(value)) return value;
  const list = members.map((name) => memberOf(value, name)).find(Array.isArray);
  return list ?? [value];
}

function messageOf(raw: unknown, role: string): MessageView {
  const value = memberOf(raw, 'message') ?? raw;
  const parts = partsOf(value).slice(1);
  const own = textMember(value, 'role') ?? role;
  const isResult = own === 'tool' || own === 'function';
  const answer = parts.find((part) => /result|response|output/.test(textMember(part, 'type') ?? ''));
  const result = answer ?? (isResult ? value : undefined);
  return {
    role: result === undefined ? own : 'tool',
    text: result === undefined ? wordsOf(value) : asText(resultOf(result)),
    calls: callsIn(value).map(({ id = null, name, arguments: given }) => ({
      ...{ id, name, input: asText(given) },
      result: null,
    })),
    answers: result === undefined ? null : (callIdOf(result) ?? callIdOf(value) ?? ''),
  };
}

function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const content = memberOf(value, 'content') ?? memberOf(value, 'parts') ?? memberOf(value, 'text');
  if (typeof content === 'string') return content;
  if (Array.isArray(content))
    return content
      .map((part) => (typeof part === 'string' ? part : (textMember(part, 'text', 'content') ?? '')))
      .join('\n')
      .trim();
  return textMember(value, 'role') !== undefined || callsIn(value).length > 0 ? '' : asText(value);
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, null, 2);

/** Spans around a model call, or of something else, whatever their kind says. */
const notTheCall = new Set(['cloud_api_invoke', 'model_call', 'tool_call', 'tools', 'run', 'agent']);

/** Whether a span's request may be tried again with changes: it is the call of a model itself. */
export const isOptimizable = (span: { readonly kind: string; readonly operation_name: string }): boolean =>
  span.kind === 'llm' &&
  span.operation_name !== '' &&
  !notTheCall.has(span.operation_name) &&
  !span.operation_name.startsWith('guard_');
