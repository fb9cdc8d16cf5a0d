import { Global, Injectable, Module } from '@nestjs/common';
import { LoggerModule } from 'nestjs-pino';
import { APP_CONFIG } from '../config/app-config.js';
import { loggingParams } from './logging.options.js';
import { RequestLog } from './request-log.js';
import { ToolLog } from './tool-log.js';
import { AsyncLocalStorage } from 'node:async_hooks';

/** Which HTTP request the running code belongs to: every log line it writes carries the id. */
@Injectable()
export class RequestContext {
  private readonly storage = new AsyncLocalStorage<string>();

  run<T>(requestId: string, work: () => T): T {
    return this.storage.run(requestId, work);
  }

  requestId(): string | undefined {
    return this.storage.getStore();
  }
}

@Module({ providers: [RequestContext], exports: [RequestContext] })
class RequestContextModule {}

@Global()
@Module({
  imports: [
    RequestContextModule,
    LoggerModule.forRootAsync({
      imports: [RequestContextModule],
      inject: [APP_CONFIG, RequestContext],
      useFactory: loggingParams,
    }),
  ],
  providers: [RequestLog, ToolLog],
  exports: [RequestLog, ToolLog],
})
export class LoggingModule {}
