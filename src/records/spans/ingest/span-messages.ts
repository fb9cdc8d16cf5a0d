import { isObject } from '../../../base/common/json.js';
import type { MessageView } from '../reads/trace-views.dto.js';
import { fromJson } from './attribute-lookup.js';
import { callsIn, itemsIn, resultsIn, textMember, wordsOf, written } from './message-parts.js';
import type { SpanContents } from './span-texts.js';

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
