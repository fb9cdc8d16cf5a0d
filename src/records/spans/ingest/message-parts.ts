import { isObject } from '../../../base/common/json.js';
import { isDeeperThan, jsonExcerpt } from '../../../base/common/json-depth.js';
import { memberOf } from './attribute-lookup.js';

// Reads messages of all dialects alike, by the members that they have in common.

/** A tool's result, as a message to a model has it. */
export interface ToolMessage {
  readonly toolName: string | undefined;
  readonly toolCallId: string | undefined;
  readonly text: string;
}

/** A tool call that a model requested. */
export interface RequestedTool {
  readonly name: string;
  /** Arguments as the model wrote them: a value, or its JSON as text. */
  readonly arguments: unknown;
}

/** Max characters of a value that is written as JSON. */
const maxTextLength = 1_048_576;
/** Max characters of a tool's name. */
const maxNameLength = 256;
/** Max levels of a value that is indented: indentation makes the text quadratic in the depth. */
const maxIndentedLevels = 64;
/** Max results of a turn, messages of a list, and parts of a message that are read. */
const limits = { toolMessages: 16, messages: 4_096, parts: 256 };

/** Members of a request or an answer that may hold its messages. */
const messageLists = ['messages', 'input', 'contents', 'choices', 'output', 'generations', 'candidates'];

/** The messages of a list, a request or an answer. LangChain has lists in the list. A single message is a list of one. */
export function itemsIn(value: unknown): unknown[] {
  if (value === undefined || value === '') return [];
  const candidates = [value, ...messageLists.map((name) => memberOf(value, name))];
  const list = candidates.find((each): each is unknown[] => Array.isArray(each)) ?? [value];
  return list.flat().slice(-limits.messages).map(unwrapped);
}

/** Roles by the words of some libraries. */
const roles = new Map(Object.entries({ human: 'user', ai: 'assistant', model: 'assistant' }));
/** Max levels of objects around a message. */
const maxWrappers = 3;

/** The message in a choice's `message`, in LangChain's `kwargs` or `data`, or in Gemini's `content`; else the value itself. */
export function unwrapped(value: unknown): unknown {
  let message = value;
  for (let level = 0; level < maxWrappers; level++) {
    const content = memberOf(message, 'content');
    const inner = ['message', 'kwargs', 'data'].map((name) => memberOf(message, name)).find(isObject);
    message = inner ?? (memberOf(content, 'parts') === undefined ? message : content);
  }
  if (!isObject(message)) return message;
  const sentRole = textMember(message, 'role');
  const type = textMember(message, 'type') ?? '';
  const typeAsRole = /^(tool|system)$/.test(type) ? type : undefined;
  const role = roles.get(sentRole ?? type) ?? sentRole ?? typeAsRole;
  return role === sentRole ? message : { ...message, role };
}

/** The members of a list, or of an object with index keys, into which some SDKs flatten a list. */
const membersOf = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value.slice(-limits.messages) as unknown[];
  return typeof value === 'object' && value !== null ? Object.values(value).slice(0, limits.parts) : [];
};

/** Types of parts that are tool calls, and of parts that are results. */
const callTypes = new Set(['tool_call', 'tool-call', 'tool_use', 'function_call', 'function']);
const resultTypes = new Set(['tool_call_response', 'tool-result', 'tool_result', 'function_call_output']);

/** The first of the named members that is present and not null. */
const firstOf = (value: unknown, ...names: readonly string[]): unknown =>
  names.map((name) => memberOf(value, name)).find((member) => member !== undefined && member !== null);

/** The first of the named members that is a text and not empty. */
export const textMember = (value: unknown, ...names: readonly string[]): string | undefined => {
  for (const name of names) {
    const member = memberOf(value, name);
    if (typeof member === 'string' && member !== '') return member;
  }
  return undefined;
};

/** Members that wrap a part, with the type that the part then has. */
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

/** Members of a message that may hold its parts. */
const partLists = ['content', 'parts', 'contents', 'tool_calls', 'toolCalls'];

/** The message itself, which may be a call or a result, and then its parts. */
function partsOf(message: unknown): unknown[] {
  const parts = partLists.map((name) => memberOf(message, name)).flatMap(membersOf);
  return [message, ...parts.slice(0, limits.parts)].map(partIn);
}

/** The part in its wrapper, if it has one. */
function partIn(part: unknown): unknown {
  for (const [name, type] of Object.entries(partMembers)) {
    const inner = memberOf(part, name);
    if (isObject(inner)) return type === undefined ? inner : { type, ...inner };
  }
  return part;
}

/** A tool call in a message. */
interface CallInMessage extends RequestedTool {
  readonly id: string | undefined;
}

/** The tool calls that a model requested in a message. */
export function callsIn(message: unknown): CallInMessage[] {
  return partsOf(message).flatMap((part, index) => {
    const type = textMember(part, 'type');
    const inner = memberOf(part, 'function') ?? part;
    const isMessage = index === 0;
    // A part without a type is a call if it has a name; the message itself only with the member of the AI SDK.
    const isUntyped = type === undefined && (!isMessage || memberOf(part, 'toolName') !== undefined);
    const isCall = inner !== part || isUntyped || callTypes.has(type ?? '');
    const name = isCall ? textMember(inner, 'name', 'toolName') : undefined;
    if (name === undefined) return [];
    const given = firstOf(inner, 'arguments', 'args', 'input');
    return { id: callIdOf(part), name: name.slice(0, maxNameLength), arguments: given };
  });
}

const isResult = (part: unknown): boolean => resultTypes.has(textMember(part, 'type') ?? '');

/** The id of a call, in its own part or in the part with its result. */
const callIdOf = (part: unknown): string | undefined =>
  textMember(part, 'tool_call_id', 'toolCallId', 'toolUseId', 'tool_use_id', 'call_id', 'id');

/** The last tool results since the model's last message. */
export function resultsSinceModel(messages: readonly unknown[]): ToolMessage[] {
  /** Names of tools by the id of their call. */
  const names = new Map<string, string>();
  let found: ToolMessage[] = [];
  for (const message of messages) {
    const role = textMember(message, 'role');
    const calls = role === 'tool' ? [] : callsIn(message);
    for (const { id, name } of calls) if (id !== undefined) names.set(id, name);
    const results = resultsIn(message, names);
    const isOfModel = role === 'assistant' || (calls.length > 0 && results.length === 0);
    found = isOfModel ? [] : [...found, ...results].slice(-limits.toolMessages);
  }
  return found;
}

/** Tool results in a message. @param names names of tools by the id of their call, for results without one */
export function resultsIn(message: unknown, names: ReadonlyMap<string, string> = new Map()): ToolMessage[] {
  const parts = partsOf(message).filter(isResult);
  const isOfTool = /^(tool|function)$/.test(textMember(message, 'role') ?? '');
  const results = parts.length === 0 && isOfTool ? [message] : parts;
  return results.map((part) => {
    const toolCallId = callIdOf(part) ?? callIdOf(message);
    const toolName = textMember(part, 'toolName', 'name') ?? names.get(toolCallId ?? '');
    const result = firstOf(part, 'result', 'response', 'output', 'content');
    return { toolName, toolCallId, text: textOf(result ?? '') };
  });
}

/** The text of a message's content: a text, a list of texts or parts, or a part with its type. Other values as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    const texts = value.map((each) =>
      typeof each === 'string' ? each : textMember(each, 'text', 'content'),
    );
    if (texts.some((text) => text !== undefined)) return texts.join('\n');
  }
  const isPart = textMember(value, 'type') !== undefined;
  const inner = isPart ? (memberOf(value, 'value') ?? memberOf(value, 'text')) : undefined;
  if (typeof inner === 'string') return inner;
  return value === undefined || value === null ? '' : jsonExcerpt(inner ?? value, maxTextLength);
}

/** The text of a message, without tool calls and results. */
export function messageText(value: unknown): string {
  if (typeof value === 'string') return value;
  const content = firstOf(value, 'content', 'parts', 'contents', 'text');
  if (typeof content === 'string') return content;
  if (typeof content === 'object') return membersOf(content).map(textOfPart).filter(Boolean).join('\n');
  const hasNoText = textMember(value, 'role') !== undefined || isResult(value);
  return hasNoText || callsIn(value).length > 0 ? '' : textOf(value);
}

/** The text of a part; empty for a result. */
function textOfPart(given: unknown): string {
  const part = partIn(given);
  if (typeof part === 'string') return part;
  return isResult(part) ? '' : (textMember(part, 'text', 'content') ?? '');
}

/** A value as text: a text unchanged, any other value as JSON. @param indent not used for values that are nested deep */
export function asText(value: unknown, indent?: number): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  const isIndented = indent !== undefined && !isDeeperThan(value, maxIndentedLevels);
  return isIndented ? JSON.stringify(value, null, indent) : jsonExcerpt(value, Infinity);
}
