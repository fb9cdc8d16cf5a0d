import { Buffer } from 'node:buffer';
import { performance } from 'node:perf_hooks';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { parse } from 'secure-json-parse';
import { AccessPolicy } from './auth/access-policy.js';
import { CallSignal } from './common/cancel-signal.js';
import { Problem } from './common/errors.js';
import type { RequestIds } from './common/ids.js';
import { refuseDeepBody } from './common/json-depth.js';
import { Lifecycle } from './common/lifecycle.js';
import { ProblemFilter } from './common/problem.filter.js';
import { RequestContext } from './observability/request-context.js';
import { RequestLog } from './observability/request-log.js';
import { answerJson } from './tools/answer-json.js';
import type { CallRequest } from './tool-contract/tool-call.js';
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
export function openCallLane(app: NestFastifyApplication, ids: RequestIds, limits: LaneLimits): void {
  const lane = new CallLane(app, ids, limits);
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

/** What all calls of the lane need. */
class CallLane {
  readonly policy: AccessPolicy;
  readonly lifecycle: Lifecycle;
  readonly context: RequestContext;
  readonly log: RequestLog;
  readonly tools: ToolsService;
  readonly problems = new ProblemFilter();

  constructor(
    app: NestFastifyApplication,
    readonly ids: RequestIds,
    readonly limits: LaneLimits,
  ) {
    this.policy = app.get(AccessPolicy);
    this.lifecycle = app.get(Lifecycle);
    this.context = app.get(RequestContext, { strict: false });
    this.log = app.get(RequestLog);
    this.tools = app.get(ToolsService);
  }

  serve(tool: string, request: IncomingMessage, response: ServerResponse): void {
    void new PlainCall(this, tool, request, response).serve();
  }
}

/** One request on the lane. */
class PlainCall {
  private readonly id: string;
  private readonly startedAt = performance.now();
  private readonly signal = new CallSignal();
  private isRead = false;

  constructor(
    private readonly lane: CallLane,
    private readonly tool: string,
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
  ) {
    this.id = lane.ids.from(request.headers['x-request-id']);
  }

  async serve(): Promise<void> {
    this.lane.lifecycle.requests.begin();
    this.response.on('close', () => this.closed());
    try {
      const call = await this.read();
      const answer = await this.lane.context.run(this.id, () => this.lane.tools.call(call));
      const fields = ['content-type', json];
      const said = headersOf(answer);
      if (said) fields.push(...inTurns(said));
      this.send(200, fields, answerJson(answer));
    } catch (error) {
      const { status, headers, body } = this.lane.problems.answer(error, this.id);
      this.send(status, inTurns(headers), body);
    }
  }

  private closed(): void {
    const { request, response, lane } = this;
    lane.lifecycle.requests.end();
    if (!response.writableFinished) this.signal.abort();
    const { method = '', url = '' } = request;
    const durationMs = performance.now() - this.startedAt;
    lane.log.completed({ id: this.id, method, url, statusCode: response.statusCode, durationMs });
  }

  /**
   * A body nearly always comes with its head: then it is here when the parser has had its turn, and to take it costs a
   * third of following its stream.
   * @throws Problem
   */
  private async read(): Promise<CallRequest> {
    const { id, tool, signal, lane, request } = this;
    const { headers } = request;
    // Before the body is read: who may not come in sends nothing.
    const principal = lane.policy.admit({ headers, route, declaredPublic: false });
    const bytes = Number(headers['content-length']);
    if (bytes > lane.limits.bodyBytes) throw this.tooLarge();
    // One that was never asked for would be read once more, to be thrown away.
    request.read(0);
    await Promise.resolve();
    const first = request.read() as Buffer | null;
    if (first && first.length > lane.limits.bodyBytes) throw this.tooLarge();
    const isWhole = first?.length === bytes || request.complete;
    const text = (isWhole ? first : await this.follow(first))?.toString() ?? '';
    this.isRead = true;
    return callOf({ tool, id, headers, principal, body: this.parse(text), signal });
  }

  /** @throws Problem `payload_too_large`, or `invalid_request` where the caller left meanwhile */
  private follow(first: Buffer | null): Promise<Buffer> {
    const { request } = this;
    const chunks = first ? [first] : [];
    let bytes = first?.length ?? 0;
    return new Promise((resolve, reject) => {
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= this.lane.limits.bodyBytes) chunks.push(chunk);
        else reject(this.tooLarge());
      });
      request.on('end', () => resolve(Buffer.concat(chunks)));
      request.on('error', () => reject(new Problem('invalid_request', 'The body was cut off')));
    });
  }

  private tooLarge(): Problem {
    const { bodyBytes } = this.lane.limits;
    return new Problem('payload_too_large', `The body is over ${bodyBytes} bytes (BODY_LIMIT_BYTES)`);
  }

  /** @throws Problem `invalid_request` */
  private parse(text: string): unknown {
    let body: unknown;
    try {
      body = parse(text);
    } catch (error) {
      throw new Problem('invalid_request', `The body is not valid JSON: ${(error as Error).message}`);
    }
    // Each level takes two characters.
    const { bodyDepth } = this.lane.limits;
    if (text.length > 2 * bodyDepth) refuseDeepBody(body, bodyDepth);
    return body;
  }

  /** @param fields names and values of headers in turns */
  private send(status: number, fields: string[], body: string): void {
    const { request, response } = this;
    if (response.headersSent || response.destroyed) return;
    // So that its stream ends.
    if (this.isRead) request.read();
    const bytes = Buffer.byteLength(body);
    fields.push('x-request-id', this.id, 'content-length', String(bytes));
    // A body that was not read to its end would be taken for the next request.
    if (this.lane.lifecycle.isDraining() || !this.isRead) fields.push('connection', 'close');
    response.writeHead(status, fields);
    // Where each character is one byte, both are the same bytes, and this way they are not counted once more.
    response.end(body, bytes === body.length ? 'latin1' : 'utf8');
  }
}

const json = 'application/json; charset=utf-8';
const inTurns = (headers: Record<string, string>): string[] => Object.entries(headers).flat();
