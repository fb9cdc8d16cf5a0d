import { Global, Module } from '@nestjs/common';
import { LoggerModule, type Params } from 'nestjs-pino';
import pino from 'pino';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { RequestContext, RequestLog } from './request-log.js';
import { ToolLog } from './tool-log.js';

/** A separate module, because nestjs-pino's module needs the context of requests. */
@Module({ providers: [RequestContext], exports: [RequestContext] })
class RequestContextModule {}

/** Log contexts of Nest that write a line for each route and module at the start. */
const startContexts: ReadonlySet<unknown> = new Set(
  'NestFactory InstanceLoader RoutesResolver RouterExplorer NestApplication'.split(' '),
);

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

/** Names of members whose values are redacted. */
const secretNames = 'authorization cookie set-cookie x-api-key password apiKey adminKey env.*'.split(' ');

/** Drops Nest's lines of the start, unless the level is debug. */
function logMethod(this: pino.Logger, args: Parameters<pino.LogFn>, method: pino.LogFn): void {
  const [entry] = args as readonly ({ readonly context?: unknown } | string | null | undefined)[];
  const context = typeof entry === 'object' ? entry?.context : undefined;
  if (!startContexts.has(context) || this.isLevelEnabled('debug')) method.apply(this, args);
}

/** Settings of the log: JSON lines with a string `timestamp` and `level`, the request's id, and no payload or secret. */
export function loggingParams(config: Pick<AppConfig, 'logging' | 'auth'>, context: RequestContext): Params {
  return {
    // Requests are logged by RequestLog.
    forRoutes: [],
    pinoHttp: {
      level: config.logging.level,
      base: undefined,
      timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
      formatters: { level: (label: string) => ({ level: label }) },
      mixin: () => {
        const id = context.requestId();
        return id === undefined ? {} : { req: { id } };
      },
      redact: { paths: secretNames.flatMap(atTopAndBelow), censor: '[redacted]' },
      hooks: { streamWrite: (line: string) => redacted(line, config.auth.adminKey), logMethod },
      wrapSerializers: false,
      serializers: { err: withoutStatement },
    },
  };
}

/** Fields of a failed statement's error that may contain rows with secrets; PostgreSQL quotes the failing row. */
const rowsOfStatement = ['parameters', 'query', 'detail', 'where', 'driverError'];

/** An error without the statement and its rows. @param error logged as `err`; a text stays as it is */
export function withoutStatement(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  const logged: Record<string, unknown> = { ...pino.stdSerializers.err(error as Error) };
  for (const name of rowsOfStatement) delete logged[name];
  return logged;
}

/** Redacts the operator's key, and passwords in URLs, anywhere in a line. */
export function redacted(line: string, adminKey: string | undefined): string {
  const clean = adminKey ? line.replaceAll(adminKey, '[redacted]') : line;
  return clean.replace(/(:\/\/[^\s:/@"\\]*:)[^\s/@"\\]+@/g, '$1[redacted]@');
}

/** Paths for pino's `redact`: the name at the top of an entry, in any of its objects, and in their headers. */
function atTopAndBelow(name: string): string[] {
  const quoted = name.includes('-');
  const key = quoted ? `["${name}"]` : name;
  const member = quoted ? key : `.${name}`;
  return [key, `*${member}`, `*.headers${member}`];
}
