import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type {
  FastifyError,
  FastifyHttpOptions,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onSendHookHandler,
} from 'fastify';
import { Logger } from 'nestjs-pino';
import type { Server } from 'node:http';
import { gzip } from 'node:zlib';
import { AppModule } from '../../app.module.js';
import { requestIdOf } from '../../base/common/ids.js';
import { ProblemFilter } from '../../web/rest/problem.filter.js';
import { acceptBodies } from '../../web/rest/raw-body.js';
import { takesGzip } from '../../web/rest/static-file.js';
import { DtoPipe } from '../../web/rest/dto.pipe.js';
import type { AppConfig } from '../../base/config/app-config.js';
import { setUpDocs } from './docs.js';
import { limitConnections, refuseBytes, registerRequestHooks } from './request-hooks.js';

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
  acceptJsonAlone(app);
  compressAnswers(app.getHttpAdapter().getInstance());
  // An input that is too deep for its tool is refused by the door, with the code for that.
  registerRequestHooks(app, config.toolInput.maxDepth + 64);
  setUpDocs(app, config.root, config.server.publicPath);
  return app;
}

/** A form cannot send JSON: what a page of another origin makes a browser post has one of the other types. */
function acceptJsonAlone(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.removeContentTypeParser('text/plain');
  acceptBodies(fastify, ['application/x-protobuf']);
}

function serverOptions({ server, toolInput }: AppConfig): FastifyHttpOptions<Server> {
  return {
    http: { headersTimeout: 60_000, connectionsCheckingInterval: 10_000 },
    requestTimeout: 60_000,
    keepAliveTimeout: server.keepAliveTimeoutMs,
    clientErrorHandler: refuseBytes,
    frameworkErrors: answerUnroutable,
    // An input at its cap must pass, so the envelope around it has room, too.
    bodyLimit: Math.max(server.bodyLimitBytes, toolInput.maxBytes + 65_536),
    // At shutdown only sockets without a request are cut: answers under way arrive.
    forceCloseConnections: 'idle',
    trustProxy: server.trustProxy,
    requestIdHeader: false,
    // An investigation's id may be 256 characters long.
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
    genReqId: requestIdOf,
  };
}

/** An address that cannot be read: Fastify asks here before it has a route, and before any hook has run. */
function answerUnroutable(error: FastifyError, { id }: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, body } = new ProblemFilter().answer(error, id);
  void reply
    .status(status)
    .headers({ ...headers, 'x-request-id': id })
    .send(body);
}

/** Shorter answers fit into a few packets as they are. */
const minChars = 4_096;

/** Compresses long answers of GET routes, in a thread of zlib. Calls of tools are POST: they get no hook. */
export function compressAnswers(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'GET') route.onSend = [...[route.onSend ?? []].flat(), compressed];
  });
}

/** Streams and buffers pass as they are. */
const compressed: onSendHookHandler = (request, reply, payload, done) => {
  if (typeof payload !== 'string' || payload.length < minChars) return done(null, payload);
  void reply.header('vary', 'accept-encoding');
  if (!takesGzip(request.headers['accept-encoding'])) return done(null, payload);
  void reply.header('content-encoding', 'gzip').removeHeader('content-length');
  gzip(payload, done);
};
