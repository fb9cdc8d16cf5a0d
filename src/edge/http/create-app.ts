import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type {
  FastifyError,
  FastifyHttpOptions,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onSendHookHandler,
  onRequestHookHandler,
} from 'fastify';
import { Logger } from 'nestjs-pino';
import type { Server } from 'node:http';
import { gzip } from 'node:zlib';
import { AppModule } from '../../app.module.js';
import { requestIdOf } from '../../base/common/ids.js';
import { ProblemFilter } from '../../web/rest/problem.filter.js';
import { acceptBodies } from '../../web/rest/raw-body.js';
import { takesGzip, StaticFile } from '../../web/rest/static-file.js';
import { DtoPipe } from '../../web/rest/dto.pipe.js';
import type { AppConfig } from '../../base/config/app-config.js';
import { limitConnections, refuseBytes } from './connections.js';
import { registerRequestHooks } from './request-hooks.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { UnconfirmedView } from '../../web/auth/audit/audit.dto.js';
import { auditedOperation, isAct } from '../../web/auth/audit/audit.interceptor.js';

/** The server as `main` and the tests build it; it does not listen yet. */
export async function createApp(config: AppConfig): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config),
    new FastifyAdapter(serverOptions(config)),
    // If the start fails, main reports the reason; buffered lines would follow it in another format.
    { bufferLogs: true, autoFlushLogs: false, abortOnError: false, bodyParser: false },
  );
  app.useLogger(app.get(Logger));
  app.flushLogs();
  app.useGlobalPipes(new DtoPipe());
  app.useGlobalFilters(new ProblemFilter());
  limitConnections(app.getHttpServer());
  acceptOnlyJson(app);
  compressAnswers(app.getHttpAdapter().getInstance());
  // A higher limit than that of inputs, so that the door refuses a deep input with its own code.
  registerRequestHooks(app, config.toolInput.maxDepth + 64);
  setUpDocs(app, config.root, config.server.publicPath);
  return app;
}

/** Refuses the content types of HTML forms, because pages of other origins can make browsers post them. */
function acceptOnlyJson(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.removeContentTypeParser('text/plain');
  acceptBodies(fastify, ['application/x-protobuf', 'application/x-www-form-urlencoded']);
}

/** Options of Fastify: limits of time and size, proxies and ids. */
function serverOptions({ server, toolInput }: AppConfig): FastifyHttpOptions<Server> {
  return {
    http: { headersTimeout: 60_000, connectionsCheckingInterval: 10_000 },
    requestTimeout: 60_000,
    keepAliveTimeout: server.keepAliveTimeoutMs,
    clientErrorHandler: refuseBytes,
    frameworkErrors: answerUnroutable,
    // Leaves room for the envelope around an input of maximum size.
    bodyLimit: Math.max(server.bodyLimitBytes, toolInput.maxBytes + 65_536),
    // At shutdown only sockets without a request are closed, so that open answers arrive.
    forceCloseConnections: 'idle',
    trustProxy: server.trustProxy,
    requestIdHeader: false,
    // An investigation's id may be 256 characters long.
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
    genReqId: requestIdOf,
  };
}

/** Answers an unreadable URL, which Fastify reports before routing and before any hook. */
function answerUnroutable(error: FastifyError, { id }: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, body } = new ProblemFilter().answer(error, id);
  void reply.status(status).headers(headers).header('x-request-id', id).send(body);
}

/** Min length of a compressed answer. Shorter ones fit into a few packets anyway. */
const minCompressedChars = 4_096;

/** Compresses long answers of GET routes in zlib's thread. Calls of tools are POST requests and not compressed. */
function compressAnswers(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'GET') route.onSend = [...[route.onSend ?? []].flat(), compress];
  });
}

/** Compresses long texts. Streams and buffers are not changed. */
const compress: onSendHookHandler = (request, reply, payload, done) => {
  if (typeof payload !== 'string' || payload.length < minCompressedChars) return done(null, payload);
  void reply.header('vary', 'accept-encoding');
  if (!takesGzip(request.headers['accept-encoding'])) return done(null, payload);
  void reply.header('content-encoding', 'gzip').removeHeader('content-length');
  gzip(payload, done);
};

/** Descriptions of the OpenAPI document's tags, by which routes are grouped. */
const tags = {
  tools: 'List and call the tools',
  'custom-tools': 'Register, change and watch executables as tools',
  'tool-metrics': 'Executions and their figures',
  'tool-health': 'Grades, error patterns and circuits',
  investigations: 'Budgets of investigations',
  playbooks: 'The catalogue that get_playbooks searches',
  traces: 'Spans, runs and threads of agents',
  experiments: 'Model calls, repeated with changes',
  pages: 'Tabs of the console that answer the tools of kind `ui`',
  assistant: 'Chats in which a language model calls the tools for a person',
  events: 'Events of tools, as a list or a stream',
  keys: "API keys, and the log of administrators' actions",
  session: 'Sign-in of browsers',
  operations: 'Probes and metrics',
} as const;

/** The server's path in the document, unless a proxy serves it below another one. */
const anyPath = '/';

/**
 * Serves docs/openapi.json at /openapi.json, and Swagger UI, which loads it, at /docs.
 * @param publicPath path below which a proxy shows the server; empty without one
 */
function setUpDocs(app: NestFastifyApplication, root: string, publicPath: string): void {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs')) route.onRequest = [...[route.onRequest ?? []].flat(), allowPage];
  });
  // Read from the file in 8 ms; generating it takes 0.3 s and 17 MB. JSON strings contain no line breaks.
  const document = (): string =>
    readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')
      .replaceAll(/\n */g, '')
      .replace(`"url": "${anyPath}"`, () => `"url": ${JSON.stringify(publicPath || anyPath)}`);
  let file: StaticFile | undefined;
  fastify.get('/openapi.json', ({ headers }, reply) => {
    file ??= new StaticFile('application/json; charset=utf-8', Buffer.from(document()));
    return file.send(headers['accept-encoding'], reply);
  });
  SwaggerModule.setup('docs', app, {} as OpenAPIObject, {
    raw: ['yaml'],
    customSiteTitle: 'Toolkeeper',
    swaggerOptions: { url: `${publicPath}/openapi.json` },
    patchDocumentOnRequest: (request, _reply, empty) =>
      (request as FastifyRequest).url.startsWith('/docs-yaml')
        ? (JSON.parse(document()) as OpenAPIObject)
        : empty,
  });
}

/** Content security policy of Swagger UI, whose page has inline styles and data URLs. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Lets a page of Swagger UI load its own scripts and styles. */
const allowPage: onRequestHookHandler = (_request, reply, done) => {
  void reply.header('content-security-policy', pagePolicy);
  done();
};

/** Generates the document of docs/openapi.json from the decorators, for `npm run client`. */
export function createDocument(app: NestFastifyApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle('Toolkeeper')
    .setDescription(
      'Runs the tools that AI agents call. A refused call answers application/problem+json; one that ran answers 200 with its outcome.',
    )
    .setVersion('1')
    .setContact('Toolkeeper operators', '', 'operators@example.com')
    .addServer(anyPath, 'This server')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API key' }, 'bearer')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'x-api-key' }, 'apiKey')
    .addSecurityRequirements('bearer')
    .addSecurityRequirements('apiKey');
  for (const [name, description] of Object.entries(tags)) builder.addTag(name, description);
  const document = SwaggerModule.createDocument(app, builder.build(), {
    operationIdFactory: (_controller, method) => method,
    extraModels: [UnconfirmedView],
  });
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item as Record<string, Operation>))
      addUnconfirmed(path, method, operation);
  const { paths, components } = document;
  return {
    ...document,
    paths: sortMembers(paths),
    components: { ...components, schemas: sortMembers(components?.schemas) },
  };
}

/** Sorts members by name, because their order depends on that of the imports. */
const sortMembers = <T>(members: Record<string, T> = {}): Record<string, T> =>
  Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));

/** An operation of the document, as far as `addUnconfirmed` reads and changes it. */
interface Operation {
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
  [auditedOperation]?: true;
}

/** Documents status 202 for audited changes of existing things. */
function addUnconfirmed(path: string, method: string, operation: Operation): void {
  const { responses, [auditedOperation]: isAudited } = operation;
  delete operation[auditedOperation];
  if (!isAudited || !isAct(method.toUpperCase(), path) || responses['201']) return;
  const { content } = responses['200'] ?? {};
  const answer = content?.['application/json']?.schema;
  const unconfirmed = { $ref: getSchemaPath(UnconfirmedView) };
  const schema = answer ? { allOf: [answer, unconfirmed] } : unconfirmed;
  responses['202'] = {
    description: 'The change is made, but some replicas did not confirm it within two seconds',
    content: { 'application/json': { schema } },
  };
}
