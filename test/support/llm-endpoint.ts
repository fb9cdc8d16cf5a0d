import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Json } from './json.js';
import { WebSite } from './web-site.js';

export interface AskedOfLlm {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
}

/** A turn of the model in which it asks for tools. */
export interface ToolCalls {
  readonly tool_calls: readonly object[];
}

type Answer = (asked: AskedOfLlm, response: ServerResponse) => unknown;

/** An OpenAI-compatible endpoint on loopback whose model says what a test scripts: a text, JSON as text, or ToolCalls. */
export interface LlmServer {
  /** For LLM_BASE_URL. */
  readonly url: string;
  readonly asked: AskedOfLlm[];
  /** Answers from now on; what it writes to the response itself is left as it is. */
  answer: Answer;
  close(): Promise<void>;
}

export async function startLlmServer(answer: Answer = () => 'Fine.'): Promise<LlmServer> {
  const site = await WebSite.start((request, response, body) => {
    serve(request, response, body.toString()).catch((error: unknown) =>
      refuse(response, 400, `The script failed: ${String(error)}`),
    );
  });
  const llm: LlmServer = { url: `${site.url}/v1`, asked: [], answer, close: () => site.stop() };
  async function serve(request: IncomingMessage, response: ServerResponse, text: string): Promise<void> {
    const question = { path: request.url ?? '', headers: request.headers, body: JSON.parse(text) };
    llm.asked.push(question);
    const said = await llm.answer(question, response);
    if (said === undefined || response.writableEnded) return;
    if (question.body.stream) return stream(messageOf(said), response);
    response.setHeader('content-type', 'application/json');
    const message = messageOf(said);
    response.end(
      JSON.stringify({
        // LangGraph replaces a message by the next one of the same id.
        id: `chatcmpl-${randomUUID()}`,
        object: 'chat.completion',
        created: 0,
        model: question.body.model,
        choices: [{ index: 0, finish_reason: message.tool_calls ? 'tool_calls' : 'stop', message }],
        usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
      }),
    );
  }
  return llm;
}

function messageOf(said: unknown): Json {
  if (typeof said === 'object' && said !== null && 'tool_calls' in said)
    return { role: 'assistant', content: null, ...said };
  return { role: 'assistant', content: typeof said === 'string' ? said : JSON.stringify(said) };
}

/** One part of an answer that is streamed. */
export const streamed = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: 'scripted' },
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  })}\n\n`;

/** Streams an answer, its text in small pieces. */
function stream({ content, tool_calls: calls }: Json, response: ServerResponse): void {
  response.setHeader('content-type', 'text/event-stream');
  for (const text of String(content ?? '').match(/[^]{1,24}/g) ?? [])
    response.write(streamed({ content: text }));
  for (const [index, call] of (calls ?? []).entries())
    response.write(streamed({ tool_calls: [{ index, ...call }] }));
  response.write(streamed({}, { finish_reason: calls ? 'tool_calls' : 'stop' }));
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
}

/** Refuses with a status and what OpenAI says then. */
export function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
}
