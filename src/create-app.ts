import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyServerOptions } from 'fastify';
import { Logger } from 'nestjs-pino';
import type { IncomingMessage } from 'node:http';
import { AppModule } from './app.module.js';
import { AccessPolicy } from './auth/access-policy.js';
import { registerAuthHook } from './auth/auth.hook.js';
import { openCallLane } from './call-lane.js';
import { RequestIds } from './common/ids.js';
import { refuseDeepBody } from './common/json-depth.js';
import { Lifecycle } from './common/lifecycle.js';
import { ProblemFilter } from './common/problem.filter.js';
import { createValidationPipe } from './common/validation.pipe.js';
import type { AppConfig } from './config/app-config.js';
import { setUpDocs } from './docs.js';
import { RequestLog } from './observability/request-log.js';

/** The server as `main` and the tests build it; it does not listen yet. */
export async function createApp(config: AppConfig): Promise<NestFastifyApplication> {
  // An input at its cap must pass, so the envelope around it has room, too.
  const bodyBytes = Math.max(config.server.bodyLimitBytes, config.toolInput.maxBytes + 65_536);
  const requestIds = new RequestIds();
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config),
    new FastifyAdapter(serverOptions(config, bodyBytes, requestIds)),
    {
      bufferLogs: true,
      abortOnError: false,
    },
  );
  app.useLogger(app.get(Logger));
  app.useGlobalPipes(createValidationPipe());
  app.useGlobalFilters(new ProblemFilter());
  const fastify = app.getHttpAdapter().getInstance();
  // An input that is too deep for its tool is refused by the door, with the code for that.
  const bodyDepth = config.toolInput.maxDepth + 64;
  followRequests(fastify, app.get(Lifecycle));
  registerAuthHook(fastify, app.get(AccessPolicy));
  capBodyDepth(fastify, bodyDepth);
  app.get(RequestLog).register(fastify);
  openCallLane(app, requestIds, { bodyBytes, bodyDepth });
  setUpDocs(app);
  return app;
}

function serverOptions(
  { server }: AppConfig,
  bodyLimit: number,
  requestIds: RequestIds,
): FastifyServerOptions {
  return {
    bodyLimit,
    requestTimeout: server.requestTimeoutMs,
    connectionTimeout: 0,
    keepAliveTimeout: server.keepAliveTimeoutMs,
    // At shutdown only sockets without a request are cut: answers under way arrive.
    forceCloseConnections: 'idle',
    trustProxy: server.trustProxy,
    requestIdHeader: false,
    // An investigation's id may be 256 characters long.
    routerOptions: { maxParamLength: 512 },
    genReqId: (request: IncomingMessage) => requestIds.from(request.headers['x-request-id']),
  };
}

/** Every answer says its request id; while the server drains, every answer also ends its connection. */
function followRequests(fastify: FastifyInstance, lifecycle: Lifecycle): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    lifecycle.requests.begin();
    // `close` comes exactly once, whether the answer was written or the client left.
    reply.raw.once('close', () => lifecycle.requests.end());
    done();
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (lifecycle.isDraining()) void reply.header('connection', 'close');
    done();
  });
}

function capBodyDepth(fastify: FastifyInstance, most: number): void {
  fastify.addHook('preValidation', (request, _reply, done) => {
    try {
      refuseDeepBody(request.body, most);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
}
