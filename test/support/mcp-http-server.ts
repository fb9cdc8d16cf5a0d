import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WebSite } from './web-site.js';

interface Request {
  readonly id?: string;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: Record<string, unknown> };
}

const object = { type: 'object' };

/**
 * An MCP server over Streamable HTTP for tests, without any library. Its path says how it answers: `/json`, or `/events`.
 * Tools: echo, headers (of the call), hang, status {code}, cut (the connection), big {bytes}, forget (the session).
 */
export class McpHttpServer {
  readonly heard: string[] = [];
  readonly sessions = new Set<string>();
  tools: object[] = ['echo', 'headers', 'hang', 'status', 'cut', 'big', 'forget'].map((name) => ({
    name,
    description: `For tests: ${name}`,
    inputSchema: object,
  }));
  private readonly listeners = new Set<ServerResponse>();

  private constructor(private readonly site: WebSite) {}

  static async start(): Promise<McpHttpServer> {
    const site = await WebSite.start((request, response, body) => started.serve(request, response, body));
    const started = new McpHttpServer(site);
    return started;
  }

  url(path: string): string {
    return `${this.site.url}${path}`;
  }

  /** Says to all who listen that its tools changed. */
  change(): void {
    const message = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    for (const listener of this.listeners) listener.write(`data: ${JSON.stringify(message)}\n\n`);
  }

  /** Writes comments without end to all who listen, as fast as they are read. */
  flood(): void {
    const comments = Buffer.alloc(65_536, ':\n');
    for (const listener of this.listeners) {
      const goOn = (): void => {
        if (listener.write(comments)) setImmediate(goOn);
        else listener.once('drain', goOn);
      };
      goOn();
    }
  }

  get listening(): number {
    return this.listeners.size;
  }

  stop(): Promise<void> {
    return this.site.stop();
  }

  private serve(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const session = String(request.headers['mcp-session-id'] ?? '');
    if (request.method === 'DELETE') {
      this.sessions.delete(session);
      return void response.writeHead(204).end();
    }
    if (request.method === 'GET') return this.listen(response);
    const message = JSON.parse(body.toString()) as Request;
    this.heard.push(message.method ?? 'an answer');
    if (message.method !== 'initialize' && !this.sessions.has(session))
      return void response.writeHead(404).end();
    if (message.id === undefined) return void response.writeHead(202).end();
    this.answer(message, request, response);
  }

  private listen(response: ServerResponse): void {
    this.listeners.add(response);
    response.on('close', () => this.listeners.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  }

  private answer({ id, method, params }: Request, request: IncomingMessage, response: ServerResponse): void {
    const headers: Record<string, string> = {};
    let result: unknown = {};
    if (method === 'initialize') {
      headers['mcp-session-id'] = randomUUID();
      this.sessions.add(headers['mcp-session-id']);
      const serverInfo = { name: 'remote', version: '7' };
      result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
    } else if (method === 'tools/list') result = { tools: this.tools };
    else if (method === 'tools/call') {
      const { name, arguments: input = {} } = params ?? {};
      if (name === 'hang') return;
      if (name === 'cut') return void request.socket.destroy();
      if (name === 'status') return void response.writeHead(Number(input['code'])).end('sorry');
      if (name === 'forget') this.sessions.clear();
      const value =
        name === 'headers'
          ? request.headers
          : name === 'big'
            ? { text: 'x'.repeat(Number(input['bytes'])) }
            : input;
      result = { content: [{ type: 'text', text: 'done' }], structuredContent: value };
    }
    const text = JSON.stringify({ jsonrpc: '2.0', id, result });
    if (request.url?.startsWith('/json')) {
      response.writeHead(200, { ...headers, 'content-type': 'application/json' }).end(text);
    } else {
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
      response.end(`: hello\n\nevent: message\nid: 1\ndata: ${text}\n\n`);
    }
  }
}
