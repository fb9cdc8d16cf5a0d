import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { AccessPolicy, docsRoute } from '../../web/auth/access-policy.js';
import { KnownKeys } from '../../web/auth/known-keys.js';
import { AccessTokens } from '../../web/auth/tokens/access-tokens.js';
import type { Principal } from '../../web/auth/principal.decorator.js';
import { accessOf } from '../../web/auth/scopes.decorator.js';
import { Cancellation } from '../../base/common/cancellation.js';
import { Problem } from '../../base/common/errors.js';
import { refuseDeepBody } from '../../base/common/json-depth.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { ProblemFilter, securityHeaders } from '../../web/rest/problem.filter.js';
import { RequestContext, RequestLog } from '../../base/observability/request-log.js';
import { requestBegan, requestEnded } from './connections.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Cancelled when the client leaves before its answer is written. (Fastify's own signal aborts on normal POSTs.) */
    cancellation: Cancellation;
  }
}

/**
 * The work around every request, in the two hooks that Fastify runs before and after it reads the body.
 * @param bodyDepth levels that a body may have
 */
export function registerRequestHooks(app: NestFastifyApplication, bodyDepth: number): void {
  const fastify = app.getHttpAdapter().getInstance();
  const lifecycle = app.get(Lifecycle);
  const context = app.get(RequestContext, { strict: false });
  const log = app.get(RequestLog);
  const openAnswers = new Map<ServerResponse, FastifyRequest>();
  const admit = admission(app.get(AccessPolicy), knownRoutes(fastify));

  // Declared, so that all request objects have the same shape for V8.
  fastify.decorateRequest('principal', undefined);
  fastify.decorateRequest('cancellation', null as unknown as Cancellation);

  fastify.addHook('onRequest', (request, reply, done) => {
    const startedAt = performance.now();
    const { raw } = reply;
    const cancellation = new Cancellation();
    request.cancellation = cancellation;
    void reply.headers(securityHeaders).header('x-request-id', request.id);
    const { state } = lifecycle;
    if (state === 'leaving' || state === 'draining') void reply.header('connection', 'close');
    lifecycle.requests.begin();
    openAnswers.set(raw, request);
    // `close` comes exactly once, whether the answer was written or the client left.
    raw.on('close', () => {
      requestEnded(request.raw.socket);
      if (!raw.writableFinished) cancellation.cancel();
      lifecycle.requests.end();
      openAnswers.delete(raw);
      log.completed(request, raw.statusCode, performance.now() - startedAt);
    });
    // Every request shows its key before its body is read, also for routes that Nest never sees: the Swagger UI's files
    // and unknown paths. Routes that were registered before Nest's error handler would answer an error with a bare 500.
    admit(request, reply, done);
  });

  // After the body is read, because the events of its reader would lose the context of log lines.
  fastify.addHook('preHandler', (request, _reply, done) => {
    try {
      // Each level takes two bytes, so short bodies need no check. Buffers are not parsed yet.
      const bytes = Number(request.headers['content-length'] ?? Infinity);
      if (bytes > 2 * bodyDepth && !Buffer.isBuffer(request.body)) refuseDeepBody(request.body, bodyDepth);
      context.run(request.id, done);
    } catch (error) {
      done(error as Error);
    }
  });

  closeAnswersOnChange(openAnswers, lifecycle, app);
}

/** Lets a request in at once, or when its access token is verified; answers it if it is refused. */
function admission(policy: AccessPolicy, routes: readonly KnownRoute[]) {
  const problems = new ProblemFilter();
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const goOn = (principal: Principal): void => {
      request.principal = principal;
      if (principal.token) endStreamAt(principal.token.expiresAt, reply.raw);
      if (request.is404) refuseMethod(request, routes);
      done();
    };
    const refuse = (error: unknown): void => problems.send(error, request, reply);
    try {
      requestBegan(request.raw.socket);
      const principal = policy.admit(request, request.routeOptions.config);
      if (principal instanceof Promise) principal.then(goOn).catch(refuse);
      else goOn(principal);
    } catch (error) {
      refuse(error);
    }
  };
}

/** Max delay of a timer in Node.js. */
const maxTimerMs = 2 ** 31 - 1;

/** Ends an event stream when the token that opened it expires. @param expiresAt milliseconds since the epoch */
function endStreamAt(expiresAt: number, raw: ServerResponse): void {
  const end = (): void => {
    if (isEventStream(raw)) raw.destroy();
  };
  const timer = setTimeout(end, Math.min(maxTimerMs, Math.max(0, expiresAt - Date.now()))).unref();
  raw.once('close', () => clearTimeout(timer));
}

/** Ends open answers, or their connections, when the rights of their callers or the state of the server change. */
function closeAnswersOnChange(
  openAnswers: ReadonlyMap<ServerResponse, FastifyRequest>,
  lifecycle: Lifecycle,
  app: NestFastifyApplication,
): void {
  // Answers that are open when the drain begins also end their connections.
  lifecycle.drainSignal.addEventListener('abort', () => {
    for (const raw of openAnswers.keys()) if (!raw.headersSent) raw.setHeader('connection', 'close');
  });
  // Streams have no time limit, so they end with the key that opened them.
  app.get(KnownKeys).ended.subscribe((keyId) => {
    for (const [raw, { principal }] of openAnswers)
      if (principal?.keyId === keyId && isEventStream(raw)) raw.destroy();
  });
  // Access rules have changed, and with them the rights of tokens. Clients reconnect with the new rights.
  app.get(AccessTokens).changed.subscribe(() => {
    for (const [raw, { principal }] of openAnswers) if (principal?.token && isEventStream(raw)) raw.destroy();
  });
}

const isEventStream = (raw: ServerResponse): boolean =>
  String(raw.getHeader('content-type')).startsWith('text/event-stream');

/** Max body of a public route: enough for a key, because anybody may send it. */
const publicBodyBytes = 16_384;

/** A path of the server and its methods. */
interface KnownRoute {
  readonly path: RegExp;
  readonly methods: readonly string[];
}

/** Collects all routes as they are added, because Fastify cannot find a route by its path alone. */
function knownRoutes(fastify: FastifyInstance): readonly KnownRoute[] {
  const routes: KnownRoute[] = [];
  fastify.addHook('onRoute', (route) => {
    const { url, method, config = {} } = route;
    refuseUndeclared(route);
    if (config.public) route.bodyLimit = publicBodyBytes;
    const path = new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
    if (url !== '*' && url !== '/*') routes.push({ path, methods: [method].flat() });
  });
  return routes;
}

/** Fails the start if a route declares no access, because it would be open to every key. */
function refuseUndeclared({ url, method, config = {} }: RouteOptions): void {
  if (accessOf(config) || docsRoute.test(url) || url === '*' || url === '/*') return;
  throw new Error(`The route ${[method].flat().join(', ')} ${url} declares neither @Scopes() nor @Public()`);
}

/** @throws Problem `invalid_request` with status 405 if the path is known for other methods */
function refuseMethod({ method, url }: FastifyRequest, routes: readonly KnownRoute[]): void {
  const path = (url.split('?')[0] ?? '').replace(/(.)\/$/, '$1');
  const methods = new Set(routes.flatMap((route) => (route.path.test(path) ? route.methods : [])));
  if (methods.size === 0) return;
  const allow = [...methods].sort().join(', ');
  const detail = `${path} does not accept ${method}; it accepts ${allow}`;
  throw new Problem('invalid_request', detail, { status: 405, headers: { allow } });
}
