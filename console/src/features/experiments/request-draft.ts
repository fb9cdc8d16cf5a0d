import { isObject, jsonObjectOf, readExactly } from '../../lib/exact-json.js';

/** A message as it is edited: a text of a role, or JSON for anything else, such as images and calls of tools. */
export type MessageDraft = { readonly role: string; readonly text: string } | { readonly json: string };

/** A request as it is edited. Texts of JSON may be invalid while they are typed. */
export interface RequestDraft {
  readonly model: string;
  readonly messages: readonly MessageDraft[];
  /** JSON text: all other members of the request. */
  readonly parameters: string;
  /** Each value is a text, or JSON for lists, objects, numbers, true and false. */
  readonly variables: Readonly<Record<string, string>>;
}

type Json = Readonly<Record<string, unknown>>;

const indented = (value: unknown): string => JSON.stringify(value, null, 2);

export function draftOf(request: Json, variables: Json = {}): RequestDraft {
  const { model, messages, ...rest } = request;
  return {
    model: typeof model === 'string' ? model : '',
    messages: Array.isArray(messages) ? messages.map(messageDraft) : [],
    parameters: indented(rest),
    variables: Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, isText(value) ? value : indented(value)]),
    ),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';

function messageDraft(message: unknown): MessageDraft {
  const { role, content, ...rest } = isObject(message) ? message : {};
  const isPlain = isText(role) && isText(content) && Object.keys(rest).length === 0;
  return isPlain ? { role, text: content } : { json: indented(message) };
}

/** @returns the members to send; undefined if a JSON text is invalid or there is no message */
export function settingsOf({
  model,
  parameters,
  messages: drafts,
  variables,
}: RequestDraft): Json | undefined {
  const rest = jsonObjectOf(parameters);
  const messages = drafts.map((message) =>
    'json' in message ? jsonObjectOf(message.json) : { role: message.role, content: message.text },
  );
  if (!rest || messages.length === 0 || messages.includes(undefined)) return undefined;
  return {
    modified_request: { ...(model !== '' && { model }), ...rest, messages },
    prompt_variables: Object.fromEntries(
      Object.entries(variables).map(([name, text]) => [name, valueOf(text)]),
    ),
  };
}

function valueOf(text: string): unknown {
  try {
    const value = readExactly(text);
    return isText(value) ? text : value;
  } catch {
    return text;
  }
}

const tag = /\{\{\{?\s*([#^/&!>]?)\s*([^}\s]*)\s*\}?\}\}/g;

/** Names of the variables that a request needs, in order. Names within a section may be members of its value. */
export function variablesIn({ messages, parameters }: RequestDraft): string[] {
  const names = new Set<string>();
  const texts = messages.map((message) => ('json' in message ? message.json : message.text));
  for (const text of [...texts, parameters]) {
    let depth = 0;
    for (const [, kind = '', path = ''] of text.matchAll(tag)) {
      if (kind === '/') depth -= 1;
      const [name = ''] = path.split('.');
      if (depth === 0 && name !== '' && ['', '&', '#', '^'].includes(kind)) names.add(name);
      if (kind === '#' || kind === '^') depth += 1;
    }
  }
  return [...names];
}
