import type { Json } from './json.js';
import type { ToolCalls } from './llm-endpoint.js';

/** A turn of the model in which it calls one tool. */
export const calling = (name: string, input: object = {}, id = 'call_0'): ToolCalls => ({
  tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
});

/** What the model was told, by who said it, the last first. */
export const heard = ({ messages }: Json): string => String(messages.at(-1).content);

/** The assistant over HTTP, as one caller. */
export class AssistantClient {
  constructor(
    private readonly url: string,
    private readonly key: Readonly<Record<string, string>>,
  ) {}

  async ask(method: string, path = '', body?: object): Promise<{ status: number; body: Json }> {
    const response = await this.send(method, path, body);
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  async newChat(): Promise<string> {
    return (await this.ask('POST', '', {})).body.id as string;
  }

  get(id: string): Promise<Json> {
    return this.ask('GET', `/${id}`).then(({ body }) => body);
  }

  say(id: string, message: string, more: object = {}): Promise<Json[]> {
    return this.chunks('POST', `/${id}/turns`, { message, ...more });
  }

  /** All chunks of a stream; a refusal is one chunk. */
  async chunks(method: string, path: string, body?: object): Promise<Json[]> {
    const chunks: Json[] = [];
    for await (const chunk of this.stream(method, path, body)) chunks.push(chunk);
    return chunks;
  }

  async *stream(method: string, path: string, body?: object, signal?: AbortSignal): AsyncGenerator<Json> {
    const response = await this.send(method, path, body, signal);
    if (!response.ok || !response.body)
      return yield { status: response.status, ...JSON.parse(await response.text()) };
    let rest = '';
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + piece).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block.startsWith('data: ') ? block.slice(6) : undefined;
        if (data !== undefined && data !== '[DONE]') yield JSON.parse(data);
      }
    }
  }

  send(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    return fetch(`${this.url}/api/v1/assistant/chats${path}`, {
      method,
      headers: { ...this.key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }
}

export const textOf = (chunks: readonly Json[]): string =>
  chunks.map(({ type, delta }) => (type === 'text-delta' ? delta : '')).join('');
export const ofType = (chunks: readonly Json[], type: string): Json[] =>
  chunks.filter((chunk) => chunk.type === type);
/** The calls of a chat's last message. */
export const callsOf = ({ messages }: Json): Json[] =>
  messages.at(-1).parts.filter(({ type }: Json) => type === 'dynamic-tool');

/** The texts that a model was sent, without what its first rule calls data. */
export function outsideData({ messages, tools }: Json, isData: boolean): string {
  const boundary = /between <data-(\w+) …>/.exec(messages[0].content)?.[1] ?? '';
  const data = new RegExp(`<data-${boundary} [^]*?\n</data-${boundary}>`, 'g');
  const texts = messages.map(({ content }: Json) => String(content).replaceAll(data, isData ? '$&' : ''));
  const descriptions = isData ? tools.map((tool: Json) => tool.function.description) : [];
  return [...texts.slice(1), ...descriptions].join('\n');
}

/** The calls that a model made in this turn, and what it was told of them. */
export function heardIn(messages: readonly Json[]): { tool: string; input: Json; answer: Json }[] {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user'));
  const calls = turn.flatMap(({ tool_calls: called }) => called ?? []);
  return turn
    .filter(({ role }) => role === 'tool')
    .map(({ tool_call_id: id, content }) => {
      const { name: tool, arguments: given } = calls.find((call) => call.id === id).function;
      const text = /^<data-\w+ source="result">\n([^]*)\n<\/data-\w+>$/.exec(content)?.[1] ?? content;
      return { tool, input: JSON.parse(given), answer: jsonOr(text) };
    });
}

function jsonOr(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}
