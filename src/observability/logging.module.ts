import { Global, Module } from '@nestjs/common';
import { LoggerModule } from 'nestjs-pino';
import { APP_CONFIG } from '../config/app-config.js';
import { loggingParams } from './logging.options.js';
import { RequestContext, RequestLog } from './request-log.js';
import { ToolLog } from './tool-log.js';

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
