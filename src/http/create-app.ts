import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyServerOptions } from 'fastify';
import { Logger } from 'nestjs-pino';
import { AppModule } from '../app.module.js';
import { requestIdOf } from '../common/ids.js';
import { ProblemFilter } from '../common/problem.filter.js';
import { createValidationPipe } from '../common/validation.pipe.js';
import type { AppConfig } from '../config/app-config.js';
import { setUpDocs } from './docs.js';
import { registerRequestHooks } from './request-hooks.js';

/** The server as `main` and the tests build it; it does not listen yet. */
export async function createApp(config: AppConfig): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config),
    new FastifyAdapter(serverOptions(config)),
    { bufferLogs: true, abortOnError: false },
  );
  app.useLogger(app.get(Logger));
  app.useGlobalPipes(createValidationPipe());
  app.useGlobalFilters(new ProblemFilter());
  // An input that is too deep for its tool is refused by the door, with the code for that.
  registerRequestHooks(app, config.toolInput.maxDepth + 64);
  setUpDocs(app);
  return app;
}

function serverOptions({ server, toolInput }: AppConfig): FastifyServerOptions {
  return {
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
    genReqId: requestIdOf,
  };
}
