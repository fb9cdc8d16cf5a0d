import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from './json.js';

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
  const asked: AskedOfLlm[] = [];
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) =>
      refuse(response, 400, `The script failed: ${String(error)}`),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const llm: LlmServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    answer,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const question = { path: request.url ?? '', headers: request.headers, body: JSON.parse(text) };
    asked.push(question);
    const said = await llm.answer(question, response);
    if (said === undefined || response.writableEnded) return;
    response.setHeader('content-type', 'application/json');
    const message = messageOf(said);
    response.end(
      JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion',
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
