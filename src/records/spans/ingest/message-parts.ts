import { isObject } from '../../../base/common/json.js';
import { jsonExcerpt } from '../../../base/common/json-depth.js';
import { memberOf } from './attribute-lookup.js';

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

const maxTextLength = 1_048_576;
const limits = { toolMessages: 16, messages: 4_096, parts: 256 };

/** Members of a request or an answer that hold its messages. */
const lists = ['messages', 'input', 'contents', 'choices', 'output', 'generations', 'candidates'];

/** The messages of a list, a request or an answer; LangChain has a list in the list. */
export function itemsIn(value: unknown): unknown[] {
  if (value === undefined || value === '') return [];
  const found = [value, ...lists.map((name) => memberOf(value, name))].find((each) => Array.isArray(each));
  const items = (found as unknown[] | undefined) ?? [value];
  return items.flat().slice(-limits.messages).map(unwrapped);
}

const roles = new Map(Object.entries({ human: 'user', ai: 'assistant', model: 'assistant' }));

/** A message out of what stands around it: a choice's `message`, LangChain's `kwargs` or `data`, a Gemini candidate's `content`. */
export function unwrapped(value: unknown): unknown {
  let message = value;
  for (let level = 0; level < 3; level++) {
    const content = memberOf(message, 'content');
    const inner = ['message', 'kwargs', 'data'].map((name) => memberOf(message, name)).find(isObject);
    message = inner ?? (memberOf(content, 'parts') === undefined ? message : content);
  }
  if (!isObject(message)) return message;
  const [ownRole, type] = [textMember(message, 'role'), textMember(message, 'type') ?? ''];
  const role = roles.get(ownRole ?? type) ?? ownRole ?? (/^(tool|system)$/.test(type) ? type : undefined);
  return role === ownRole ? message : { ...message, role };
}

const listOf = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value.slice(-limits.messages) as unknown[];
  // Some SDKs flatten a list into an object with index keys.
  return typeof value === 'object' && value !== null ? Object.values(value).slice(0, limits.parts) : [];
};

const callTypes = new Set(['tool_call', 'tool-call', 'tool_use', 'function_call', 'function']);
const resultTypes = new Set(['tool_call_response', 'tool-result', 'tool_result', 'function_call_output']);

/** The first of the members that exists and is not null. */
const firstOf = (value: unknown, ...names: readonly string[]): unknown =>
  names.map((name) => memberOf(value, name)).find((member) => member !== undefined && member !== null);

/** The first of the members that is a text and not empty. */
export const textMember = (value: unknown, ...names: readonly string[]): string | undefined => {
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
  return [message, ...parts.slice(0, limits.parts)].map(partIn);
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

/** Tool results after the model's last message, at most 16. */
export function resultsSinceModel(messages: readonly unknown[]): ToolMessage[] {
  const names = new Map<string, string>();
  let found: ToolMessage[] = [];
  for (const message of messages) {
    const role = textMember(message, 'role');
    const calls = role === 'tool' ? [] : callsIn(message);
    for (const { id, name } of calls) if (id !== undefined) names.set(id, name);
    const results = resultsIn(message, names);
    const isModels = role === 'assistant' || (calls.length > 0 && results.length === 0);
    // Calls that follow each other are one turn.
    found = isModels ? [] : [...found, ...results].slice(-limits.toolMessages);
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
export function textOf(value: unknown): string {
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

/** The words of a message, without the calls that it asked for. */
export function wordsOf(value: unknown): string {
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

/** A value as text: a text as it is, of something else its JSON. */
export const written = (value: unknown, indent?: number): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, null, indent);
