import { isObject, jsonObjectOf, jsonOrText } from '../../lib/exact-json.js';

/** A message as it is edited: a text of a role, or JSON for anything else, such as images and calls of tools. */
export type MessageDraft = { readonly role: string; readonly text: string } | { readonly json: string };

/** An experiment as it is edited. Texts of JSON may be invalid while they are typed. */
export interface RequestDraft {
  readonly name: string;
  readonly model: string;
  readonly messages: readonly MessageDraft[];
  /** JSON text: all other members of the request. */
  readonly parameters: string;
  /** Each value is a text, or JSON for lists, objects, numbers, true and false. */
  readonly variables: Readonly<Record<string, string>>;
  /** A line for each header: `x-team: search`. */
  readonly headers: string;
}

export type Json = Readonly<Record<string, unknown>>;

const indented = (value: unknown): string => JSON.stringify(value, null, 2);

/** @param data the members of a request, and beside them `name`, `headers` and `promptVariables` */
export function draftOf({ name, headers, promptVariables, model, messages, ...rest }: Json): RequestDraft {
  return {
    name: textOf(name),
    model: textOf(model),
    messages: Array.isArray(messages) ? messages.map(messageDraft) : [],
    parameters: indented(rest),
    variables: Object.fromEntries(textsOf(promptVariables)),
    headers: textsOf(headers)
      .map((header) => header.join(': '))
      .join('\n'),
  };
}

const textOf = (value: unknown): string => (isText(value) ? value : '');
const textsOf = (values: unknown): [string, string][] =>
  Object.entries(isObject(values) ? values : {}).map(([name, value]) => [
    name,
    isText(value) ? value : indented(value),
  ]);
const isText = (value: unknown): value is string => typeof value === 'string';

function messageDraft(message: unknown): MessageDraft {
  const { role, content, ...rest } = isObject(message) ? message : {};
  const isPlain = isText(role) && isText(content) && Object.keys(rest).length === 0;
  return isPlain ? { role, text: content } : { json: indented(message) };
}

/** @returns what `draftOf` reads; undefined if a JSON text or a header is invalid, or there is no message */
export function dataOf(draft: RequestDraft): Json | undefined {
  const { name, model, parameters, variables } = draft;
  const rest = jsonObjectOf(parameters);
  const headers = headersOf(draft);
  const messages = draft.messages.map((message) =>
    'json' in message ? jsonObjectOf(message.json) : { role: message.role, content: message.text },
  );
  if (!rest || !headers || messages.length === 0 || messages.includes(undefined)) return undefined;
  const values = Object.entries(variables).map(([key, text]) => [key, valueOf(text)]);
  return {
    ...{ name, headers, promptVariables: Object.fromEntries(values) },
    ...{ ...(model !== '' && { model }), ...rest, messages },
  };
}

/** @returns undefined if a line is no header */
export function headersOf({ headers }: Pick<RequestDraft, 'headers'>): Record<string, string> | undefined {
  const lines = headers.split('\n').filter((line) => line.trim() !== '');
  const parts = lines.map((line) => /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line));
  if (parts.includes(null)) return undefined;
  return Object.fromEntries(parts.map((part) => [part?.[1] ?? '', part?.[2] ?? '']));
}

function valueOf(text: string): unknown {
  const value = jsonOrText(text);
  return isText(value) ? text : value;
}

const tag = /\{\{\{?\s*([#^/&!>]?)\s*([^}\s]*)\s*\}?\}\}/g;

/** Names of the variables that a request needs, in order. Names within a section may be members of its value. */
export function variablesIn({ messages, parameters, headers }: RequestDraft): string[] {
  const names = new Set<string>();
  const texts = messages.map((message) => ('json' in message ? message.json : message.text));
  for (const text of [...texts, parameters, headers]) {
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
