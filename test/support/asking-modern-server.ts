import { createMcpHandler, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSite } from './web-site.js';

const amount = { type: 'object', properties: { amount: { type: 'integer', minimum: 1 } } } as const;
const form = (message: string) =>
  inputRequired.elicit({ message, requestedSchema: { ...amount, required: ['amount'] } });
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
interface Accepted {
  readonly action: string;
  readonly content?: { readonly amount: number };
}

/**
 * A server of the official SDK that speaks 2026-07-28 alone and asks in rounds.
 * Tools: order {item} (a form), late (two forms, after a while), twice (one form after another, with a state), sign_in (a URL), again (a state alone, then
 *   answers), model (sampling)
 */
export async function startAskingServer(): Promise<WebSite> {
  const made = (): McpServer => {
    const server = new McpServer({ name: 'asking', version: '2' });
    const input = fromJsonSchema<{ readonly item?: string }>({
      type: 'object',
      properties: { item: { type: 'string' } },
    });
    server.registerTool('order', { inputSchema: input }, ({ item }, { mcpReq }) => {
      const answer = mcpReq.inputResponses?.['how'] as Accepted | undefined;
      if (!answer)
        return inputRequired({
          inputRequests: { how: form(`How many of ${item}?`) },
          requestState: `for ${item}`,
        });
      return text({ item, ...answer, state: mcpReq.requestState() });
    });
    server.registerTool('late', { inputSchema: input }, async (_input, { mcpReq }) => {
      await delay(400);
      if (!mcpReq.inputResponses)
        return inputRequired({ inputRequests: { first: form('First?'), second: form('Second?') } });
      return text(mcpReq.inputResponses);
    });
    server.registerTool('twice', { inputSchema: input }, (_input, { mcpReq }) => {
      const { first, second } = (mcpReq.inputResponses ?? {}) as Record<string, Accepted>;
      if (second) return text([mcpReq.requestState(), second.content]);
      if (!first) return inputRequired({ inputRequests: { first: form('First?') } });
      return inputRequired({
        inputRequests: { second: form('Second?') },
        requestState: JSON.stringify(first.content),
      });
    });
    server.registerTool('sign_in', { inputSchema: input }, (_input, { mcpReq }) => {
      const url = inputRequired.elicitUrl({ message: 'Sign in', url: 'https://example.com/in' });
      return mcpReq.inputResponses ? text(mcpReq.inputResponses) : inputRequired({ inputRequests: { url } });
    });
    server.registerTool('again', { inputSchema: input }, (_input, { mcpReq }) =>
      mcpReq.requestState() === undefined ? inputRequired({ requestState: 'later' }) : text('now'),
    );
    server.registerTool('model', { inputSchema: input }, () =>
      inputRequired({ inputRequests: { ask: inputRequired.createMessage({ messages: [], maxTokens: 1 }) } }),
    );
    return server;
  };
  const handler = createMcpHandler(made, { legacy: 'reject', keepAliveMs: 0 });
  return WebSite.start((request, response, body) => {
    const { method = 'GET', url = '/', headers } = request;
    const asked = new Request(new URL(url, 'http://127.0.0.1'), {
      method,
      headers: headers as Record<string, string>,
      ...(method === 'POST' && { body: new Uint8Array(body) }),
    });
    void handler.fetch(asked).then((answer) => {
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).flushHeaders();
      if (answer.body) Readable.fromWeb(answer.body as never).pipe(response);
      else response.end();
    });
  });
}
