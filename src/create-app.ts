import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from 'nestjs-pino';
import type { IncomingMessage } from 'node:http';
import { AppModule } from './app.module.js';
import { Problem } from './common/errors.js';
import { requestIdFrom } from './common/ids.js';
import { isDeeperThan } from './common/json-depth.js';
import { Lifecycle } from './common/lifecycle.js';
import { ProblemFilter } from './common/problem.filter.js';
import { createValidationPipe } from './common/validation.pipe.js';
import type { AppConfig } from './config/app-config.js';
import { setUpDocs } from './docs.js';

/** The server as `main` and the tests build it; it does not listen yet. */
export async function createApp(config: AppConfig): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config),
    createAdapter(config),
    {
      bufferLogs: true,
      abortOnError: false,
    },
  );
  app.useLogger(app.get(Logger));
  app.useGlobalPipes(createValidationPipe());
  app.useGlobalFilters(new ProblemFilter());
  addHeaders(app);
  capBodyDepth(app, config.toolInput.maxDepth);
  setUpDocs(app);
  return app;
}

function createAdapter({ server, toolInput }: AppConfig): FastifyAdapter {
  return new FastifyAdapter({
    // An input at its cap must pass, so the envelope around it has room, too.
    bodyLimit: Math.max(server.bodyLimitBytes, toolInput.maxBytes + 65_536),
    requestTimeout: server.requestTimeoutMs,
    connectionTimeout: 0,
    keepAliveTimeout: server.keepAliveTimeoutMs,
    // At shutdown only sockets without a request are cut: answers under way arrive.
    forceCloseConnections: 'idle',
    trustProxy: server.trustProxy,
    requestIdHeader: false,
    // An investigation's id may be 256 characters long.
    routerOptions: { maxParamLength: 512 },
    genReqId: (request: IncomingMessage) => requestIdFrom(request.headers['x-request-id']),
  });
}

/** Every answer says its request id; while the server drains, every answer also ends its connection. */
function addHeaders(app: NestFastifyApplication): void {
  const lifecycle = app.get(Lifecycle);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    done();
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (lifecycle.isDraining()) void reply.header('connection', 'close');
    done();
  });
}

/** What walks a body recurses: one that is nested without end must not reach it. */
function capBodyDepth(app: NestFastifyApplication, inputDepth: number): void {
  // An input that is too deep for its tool is refused by the door, with the code for that.
  const most = inputDepth + 64;
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('preValidation', (request, _reply, done) => {
    if (!isDeeperThan(request.body, most)) return done();
    done(
      new Problem('invalid_request', `The body is nested deeper than ${most} levels (TOOL_INPUT_MAX_DEPTH)`),
    );
  });
}
