import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { parse } from 'secure-json-parse';
import { AccessPolicy } from './auth/access-policy.js';
import { CallSignal, type CancelSignal } from './common/cancel-signal.js';
import { Problem } from './common/errors.js';
import { requestIdFrom } from './common/ids.js';
import { refuseDeepBody } from './common/json-depth.js';
import { Lifecycle } from './common/lifecycle.js';
import { ProblemFilter } from './common/problem.filter.js';
import { RequestContext } from './observability/request-context.js';
import { RequestLog } from './observability/request-log.js';
import { answerJson } from './tools/answer-json.js';
import { callOf } from './tools/incoming-call.js';
import { headersOf } from './tools/answer-headers.js';
import { ToolsService } from './tools/tools.service.js';

export interface LaneLimits {
  readonly bodyBytes: number;
  readonly bodyDepth: number;
}

/** What is plain enough for the lane; every other spelling of the route goes to Nest's, which answers alike. */
const calls = /^\/api\/v1\/tools\/([\w.-]{1,128})\/execute$/;
const route = '/api/v1/tools/:name/execute';

/**
 * Lets plain calls of tools in beside Nest, on the same server: around each request Nest's adapter and Fastify run a
 * dozen hooks, a body parser, a router and a handler, which together cost more than the door. The controller declares
 * and documents the route, and serves it where the lane does not: events, other media types, odd names.
 */
export function openCallLane(app: NestFastifyApplication, limits: LaneLimits): void {
  const lane = new CallLane(app, limits);
  const server: Server = app.getHttpServer();
  const others = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const tool = toolOfPlainCall(request);
    if (tool !== undefined) lane.serve(tool, request, response);
    else for (const listener of others) listener.call(server, request, response as never);
  });
}

function toolOfPlainCall({ method, url = '', headers }: IncomingMessage): string | undefined {
  if (method !== 'POST' || !headers['content-type']?.startsWith('application/json')) return undefined;
  if (/text\/event-stream/i.test(headers.accept ?? '') || headers['content-encoding']) return undefined;
  return calls.exec(url)?.[1];
}

class CallLane {
  private readonly policy: AccessPolicy;
  private readonly lifecycle: Lifecycle;
  private readonly context: RequestContext;
  private readonly log: RequestLog;
  private readonly tools: ToolsService;
  private readonly problems = new ProblemFilter();

  constructor(
    app: NestFastifyApplication,
    private readonly limits: LaneLimits,
  ) {
    this.policy = app.get(AccessPolicy);
    this.lifecycle = app.get(Lifecycle);
    this.context = app.get(RequestContext, { strict: false });
    this.log = app.get(RequestLog);
    this.tools = app.get(ToolsService);
  }

  serve(tool: string, request: IncomingMessage, response: ServerResponse): void {
    const id = requestIdFrom(request.headers['x-request-id']);
    const startedAt = performance.now();
    const caller = new CallSignal();
    this.lifecycle.requests.begin();
    response.on('close', () => {
      this.lifecycle.requests.end();
      if (!response.writableFinished) caller.abort();
      const { method = '', url = '' } = request;
      const durationMs = performance.now() - startedAt;
      this.log.completed({ id, method, url, statusCode: response.statusCode, durationMs });
    });
    this.answer(tool, id, request, response, caller).catch((error: unknown) => {
      const { status, headers, body } = this.problems.answer(error, id);
      this.send(response, id, status, headers, body);
    });
  }

  private async answer(
    tool: string,
    id: string,
    request: IncomingMessage,
    response: ServerResponse,
    signal: CancelSignal,
  ): Promise<void> {
    const { headers } = request;
    // Before the body is read: who may not come in sends nothing.
    const principal = this.policy.admit({ headers, route, declaredPublic: false });
    const body = this.parse(await this.read(request));
    const call = callOf({ tool, id, headers, principal, body, signal });
    const answer = await this.context.run(id, () => this.tools.call(call));
    this.send(response, id, 200, { ...headersOf(answer), 'content-type': json }, answerJson(answer));
  }

  /** @throws Problem `payload_too_large`, or `invalid_request` where the caller left meanwhile */
  private read(request: IncomingMessage): Promise<string> {
    const { bodyBytes } = this.limits;
    const tooLarge = () =>
      new Problem('payload_too_large', `The body is over ${bodyBytes} bytes (BODY_LIMIT_BYTES)`);
    return new Promise((resolve, reject) => {
      if (Number(request.headers['content-length']) > bodyBytes) return reject(tooLarge());
      const chunks: Buffer[] = [];
      let bytes = 0;
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= bodyBytes) chunks.push(chunk);
        else reject(tooLarge());
      });
      request.on('end', () => {
        const [only] = chunks;
        resolve((only && chunks.length === 1 ? only : Buffer.concat(chunks)).toString());
      });
      request.on('error', () => reject(new Problem('invalid_request', 'The body was cut off')));
    });
  }

  /** @throws Problem `invalid_request` */
  private parse(text: string): unknown {
    let body: unknown;
    try {
      body = parse(text);
    } catch (error) {
      throw new Problem('invalid_request', `The body is not valid JSON: ${(error as Error).message}`);
    }
    refuseDeepBody(body, this.limits.bodyDepth);
    return body;
  }

  private send(
    response: ServerResponse,
    id: string,
    status: number,
    headers: Record<string, string>,
    body: string,
  ): void {
    if (response.headersSent || response.destroyed) return;
    headers['x-request-id'] = id;
    headers['content-length'] = String(Buffer.byteLength(body));
    // A body that was not read to its end would be taken for the next request.
    if (this.lifecycle.isDraining() || !response.req.complete) headers['connection'] = 'close';
    response.writeHead(status, headers);
    response.end(body);
  }
}

const json = 'application/json; charset=utf-8';
