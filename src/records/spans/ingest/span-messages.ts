import { isObject } from '../../../base/common/json.js';
import type { MessageView } from '../reads/trace-views.dto.js';
import { fromJson } from './attribute-lookup.js';
import { asText, callsIn, itemsIn, messageText, resultsIn, textMember } from './message-parts.js';
import type { SpanContents } from './span-texts.js';

/** The messages of a model call, each tool result at its call; of a tool's span one message with the call; of others none. */
export function messagesOf(kind: string, { input = '', output = '' }: Partial<SpanContents>): MessageView[] {
  const toolCall = { id: null, name: '', input, result: output || null };
  if (kind === 'tool') return [{ role: 'tool', text: '', calls: [toolCall], answers: null }];
  if (kind !== 'llm') return [];
  const requests = itemsIn(fromJson(input)).flatMap((each) => viewsOf(each, 'user'));
  // `spanContentsOf` joins the answer and the tool calls, which may both be JSON, with a line feed.
  const parsedLines = output.split('\n').map(fromJson);
  const isJsonLines = parsedLines.every((line) => isObject(line) || Array.isArray(line));
  const outputs = isJsonLines ? parsedLines : [fromJson(output)];
  const replies = outputs.flatMap(itemsIn).flatMap((each) => viewsOf(each, 'assistant'));
  return withResults([...requests, ...replies]);
}

/** Moves each tool result to its call. Results without a call remain messages. */
function withResults(messages: readonly MessageView[]): MessageView[] {
  const results = new Map(
    messages.filter(({ answers }) => answers !== null).map(({ answers, text }) => [answers, text]),
  );
  const callIds = new Set(messages.flatMap(({ calls }) => calls.map(({ id }) => id)));
  return messages
    .filter(({ answers }) => answers === null || !callIds.has(answers))
    .map(({ calls, ...message }) => ({
      ...message,
      calls: calls.map((call) => ({ ...call, result: results.get(call.id) ?? null })),
    }));
}

/** The tool results in a message, each as a message of its own, then the message itself, unless it is empty. */
function viewsOf(message: unknown, defaultRole: string): MessageView[] {
  const results = resultsIn(message).map(({ toolCallId, text }) => ({
    role: 'tool',
    text,
    calls: [],
    // Empty, not null: a result whose call is not known. Null marks messages that are no result.
    answers: toolCallId ?? '',
  }));
  const role = textMember(message, 'role') ?? defaultRole;
  // The text of a tool's message is its result, which is a message of its own already.
  const text = results.length > 0 && /^(tool|function)$/.test(role) ? '' : messageText(message);
  const calls = callsIn(message).map(({ id = null, name, arguments: given }) => ({
    id,
    name,
    input: asText(given, 2),
    result: null,
  }));
  if (text !== '' || calls.length > 0) return [...results, { role, text, calls, answers: null }];
  return results;
}
