import { isObject } from '../../../base/common/json.js';
import { fromJson, memberOf } from '../ingest/attribute-lookup.js';
import { argumentsIn, callIdOf, resultOf, textMember } from '../ingest/span-texts.js';
import type { AskedToolView, MessageView, SpanView } from './trace-views.dto.js';

type Texts = Pick<SpanView, 'input' | 'output'>;

/** The messages of a model call in one form for all dialects, results at the calls that asked for them; the call of a tool. */
export function messagesOf(kind: string, { input = '', output = '' }: Texts): MessageView[] {
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

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function messageOf(raw: unknown, role: string): MessageView {
  const value = memberOf(raw, 'message') ?? raw;
  const parts = ['content', 'parts', 'tool_calls'].flatMap((name) => listOf(memberOf(value, name)));
  const own = textMember(value, 'role') ?? role;
  const isResult = own === 'tool' || own === 'function';
  const answer = parts.find((part) => /result|response|output/.test(textMember(part, 'type') ?? ''));
  const result = answer ?? (isResult ? value : undefined);
  return {
    role: result === undefined ? own : 'tool',
    text: result === undefined ? wordsOf(value) : asText(resultOf(result)),
    calls: [value, ...parts].flatMap(callIn),
    answers: result === undefined ? null : (callIdOf(result) ?? callIdOf(value) ?? ''),
  };
}

function callIn(part: unknown): AskedToolView[] {
  const call = memberOf(part, 'tool_call') ?? part;
  const inner = memberOf(call, 'function') ?? call;
  const isCall =
    inner !== call || /^(tool[_-](call|use)|function_call)$/.test(textMember(call, 'type') ?? '');
  const name = isCall ? textMember(inner, 'name', 'toolName') : undefined;
  if (name === undefined) return [];
  return [{ id: callIdOf(call) ?? null, name, input: asText(argumentsIn(inner)), result: null }];
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
  return textMember(value, 'role') !== undefined || callIn(value).length > 0 ? '' : asText(value);
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, null, 2);
