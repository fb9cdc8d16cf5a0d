import { isObject } from '../../lib/exact-json.js';
import type { SpanView } from '../../lib/api-types.js';

/** A tool that a model asked for, with its result where that is known. */
export interface AskedTool {
  readonly id: string | undefined;
  readonly name: string;
  readonly input: string;
  readonly result?: string | undefined;
}

export interface Message {
  readonly role: string;
  readonly text: string;
  readonly calls: readonly AskedTool[];
  /** The call of which this is the result. */
  readonly answers?: string | undefined;
}

/** The messages of a model call, in whichever dialect. */
export function messagesOf({ input = '', output = '' }: Pick<SpanView, 'input' | 'output'>): Message[] {
  const asked = listIn(valueOf(input), ['messages', 'input', 'contents']).map((each) =>
    messageOf(each, 'user'),
  );
  const lines = output.split('\n').map(valueOf);
  const answers = lines.every((line) => isObject(line) || Array.isArray(line)) ? lines : [valueOf(output)];
  const said = answers
    .flatMap((answer) => listIn(answer, ['choices', 'output', 'content', 'candidates']))
    .map((each) => messageOf(each, 'assistant'));
  return [...asked, ...said].filter(
    ({ text, calls, answers }) => text !== '' || calls.length > 0 || answers !== undefined,
  );
}

/**
 * Puts each result at the call that asked for it, and takes it out of the list.
 * @param all messages among which results and calls are looked for
 */
export function paired(messages: readonly Message[], all = messages): Message[] {
  const results = new Map(
    all.flatMap(({ answers, text }) => (answers === undefined ? [] : [[answers, text]])),
  );
  const asked = new Set(all.flatMap(({ calls }) => calls.map(({ id }) => id)));
  return messages
    .filter(({ answers }) => answers === undefined || !asked.has(answers))
    .map((message) => ({
      ...message,
      calls: message.calls.map((call) => ({ ...call, result: results.get(call.id ?? '') })),
    }));
}

/** Tells whether two messages are the same one, so that a conversation that grows is shown once. */
export const keyOf = ({ role, text, calls }: Message): string =>
  JSON.stringify([role, text, calls.map(({ name, input }) => [name, input])]);

function valueOf(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function listIn(value: unknown, members: readonly string[]): readonly unknown[] {
  if (value === '') return [];
  if (Array.isArray(value)) return value;
  const list = members.map((name) => member(value, name)).find(Array.isArray);
  return list ?? [value];
}

const member = (value: unknown, name: string): unknown =>
  isObject(value) ? value[name as never] : undefined;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textMember = (value: unknown, ...names: readonly string[]): string | undefined =>
  names.map((name) => member(value, name)).find((each) => typeof each === 'string');

function messageOf(raw: unknown, role: string): Message {
  const value = member(raw, 'message') ?? raw;
  const parts = ['content', 'parts', 'tool_calls'].flatMap((name) => listOf(member(value, name)));
  const own = textMember(value, 'role') ?? role;
  const isResult = own === 'tool' || own === 'function';
  const answer = parts.find((part) => /result|response|output/.test(textMember(part, 'type') ?? ''));
  const result = answer ?? (isResult ? value : undefined);
  return {
    role: result === undefined ? own : 'tool',
    text: result === undefined ? wordsOf(value) : resultOf(result),
    calls: [value, ...parts].flatMap(callIn),
    answers: result === undefined ? undefined : (idOf(result) ?? idOf(value)),
  };
}

const idOf = (value: unknown): string | undefined =>
  textMember(value, 'tool_call_id', 'toolCallId', 'tool_use_id', 'call_id', 'id');

function callIn(part: unknown): AskedTool[] {
  const call = member(part, 'tool_call') ?? part;
  const inner = member(call, 'function') ?? call;
  const isCall =
    inner !== call || /^(tool[_-](call|use)|function_call)$/.test(textMember(call, 'type') ?? '');
  const name = isCall ? textMember(inner, 'name', 'toolName') : undefined;
  if (name === undefined) return [];
  const given = ['arguments', 'args', 'input']
    .map((each) => member(inner, each))
    .find((each) => each !== undefined);
  return [{ id: idOf(call), name, input: asText(given) }];
}

function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const content = member(value, 'content') ?? member(value, 'parts') ?? textMember(value, 'text');
  if (typeof content === 'string') return content;
  if (Array.isArray(content))
    return content
      .map((part) => (typeof part === 'string' ? part : (textMember(part, 'text', 'content') ?? '')))
      .join('\n')
      .trim();
  return textMember(value, 'role') !== undefined || callIn(value).length > 0 ? '' : asText(value);
}

const resultOf = (value: unknown): string =>
  asText(
    ['result', 'response', 'output', 'content']
      .map((name) => member(value, name))
      .find((each) => each !== undefined),
  );

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, null, 2);
