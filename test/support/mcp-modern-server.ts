import {
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { WebSite } from './web-site.js';

/**
 * A server of the official SDK that speaks 2026-07-28 and, if asked, the older revisions.
 * Tools: echo, hang, slow (with progress and a log), odd (in place of a structured result a list).
 */
export class McpModernServer {
  /** Methods that it was asked, in their order. */
  readonly heard: string[] = [];
  /** Calls of `hang` that its client left. */
  left = 0;
  /** Tools that it lists besides. */
  readonly others: string[] = [];
  /** Resources of which it tells updates. */
  readonly watchable: string[] = [];
  /** Answers a request in its place, if it returns true. */
  instead: (
    message: { readonly id?: string; readonly method?: string },
    response: ServerResponse,
  ) => boolean = () => false;
  private handler!: McpHttpHandler;

  private constructor(readonly site: WebSite) {}

  static async start(legacy: 'stateless' | 'reject' = 'reject'): Promise<McpModernServer> {
    const site = await WebSite.start((...asked) => void server.serve(...asked));
    const server = new McpModernServer(site);
    server.speak(legacy);
    return server;
  }

  speak(legacy: 'stateless' | 'reject'): void {
    this.handler = createMcpHandler(() => this.made(), { legacy, keepAliveMs: 0 });
  }

  change(): void {
    this.handler.notify.toolsChanged();
  }

  touch(uri: string): void {
    this.handler.notify.resourceUpdated(uri);
  }

  async stop(): Promise<void> {
    await this.handler.close();
    await this.site.stop();
  }

  private made(): McpServer {
    const server = new McpServer(
      { name: 'modern', version: '8' },
      {
        capabilities: {
          tools: { listChanged: true },
          logging: {},
          ...(this.watchable.length > 0 && { resources: { subscribe: true } }),
        },
        instructions: 'Echo first',
      },
    );
    const region = { type: 'string', 'x-mcp-header': 'Region' };
    const inputSchema = fromJsonSchema<{ readonly region?: string }>({
      type: 'object',
      properties: { region },
    });
    server.registerTool('echo', { description: 'Echo', inputSchema }, (input, { http }) => ({
      content: [{ type: 'text', text: 'done' }],
      structuredContent: { ...input, header: http?.req?.headers.get('mcp-param-region') ?? null },
    }));
    server.registerTool(
      'hang',
      { inputSchema: fromJsonSchema({ type: 'object' }) },
      async (_input, { mcpReq }) => {
        await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
        this.left++;
        return { content: [] };
      },
    );
    server.registerTool(
      'slow',
      { inputSchema: fromJsonSchema({ type: 'object' }) },
      async (_input, context) => {
        const progressToken = context.mcpReq._meta?.progressToken;
        if (progressToken !== undefined)
          await context.mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress: 1, total: 2 },
          });
        return { content: [{ type: 'text', text: 'slowly' }] };
      },
    );
    for (const uri of this.watchable)
      server.registerResource(uri, uri, {}, () => ({ contents: [{ uri, text: 'note' }] }));
    for (const name of this.others) server.registerTool(name, {}, () => ({ content: [] }));
    return server;
  }

  private async serve(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const message =
      method === 'POST' ? (JSON.parse(body.toString()) as { id?: string; method: string }) : { method };
    this.heard.push(message.method);
    if (this.instead(message, response)) return;
    const left = new AbortController();
    response.on('close', () => left.abort());
    const answer = await this.handler.fetch(
      new Request(new URL(url, this.site.url), {
        method,
        headers: headers as Record<string, string>,
        signal: left.signal,
        ...(method === 'POST' && { body: new Uint8Array(body) }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).flushHeaders();
    if (!answer.body) return void response.end();
    Readable.fromWeb(answer.body as never)
      .on('error', () => undefined)
      .pipe(response);
  }
}
