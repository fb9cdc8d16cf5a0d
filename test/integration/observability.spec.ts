import { Body, Controller, Get, Logger as NestLogger, Module, Post } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { Logger, PinoLogger } from 'nestjs-pino';
import { __resetOutOfContextForTests as forgetFirstLogger } from '../../node_modules/nestjs-pino/dist/esm/PinoLogger.js';
import { AuthModule } from '../../src/web/auth/auth.module.js';
import { Scopes } from '../../src/web/auth/scopes.decorator.js';
import { LifecycleModule } from '../../src/edge/http/lifecycle.module.js';
import { ProblemFilter } from '../../src/web/rest/problem.filter.js';
import { APP_CONFIG, ConfigModule, loadConfig } from '../../src/base/config/app-config.js';
import { registerRequestHooks } from '../../src/edge/http/request-hooks.js';
import { LoggingModule, loggingParams } from '../../src/base/observability/logging.module.js';
import { RequestContext } from '../../src/base/observability/request-log.js';
import { MetricsModule } from '../../src/base/observability/metrics.module.js';
import { ToolLog, type ToolLogEntry } from '../../src/base/observability/tool-log.js';
import { supertest as request } from '../support/http.js';

const adminKey = 'the-very-secret-admin-key';

@Controller()
@Scopes()
class SomeController {
  private readonly logger = new NestLogger('some');

  constructor(private readonly toolLog: ToolLog) {}

  @Post('work')
  work(@Body() body: unknown): object {
    this.logger.warn('working');
    this.toolLog.write({ tool: 'echo', event: 'execute', requestId: 'r-1' });
    return { body };
  }

  @Get('fail')
  fail(): never {
    throw new Error('cannot reach postgres://me:hunter2@db/x');
  }

  @Get('livez')
  live(): object {
    return {};
  }
}

/** real: Nest, Fastify, pino, HTTP, promtool where it is installed. */
describe('observability', () => {
  let app: NestFastifyApplication;
  const lines: string[] = [];

  beforeAll(async () => {
    // A process keeps its first logger, and earlier files may have made one.
    forgetFirstLogger();
    const config = loadConfig({ LOG_LEVEL: 'debug', ADMIN_API_KEY: adminKey });
    const destination = { write: (line: string) => void lines.push(line) };
    @Module({
      imports: [
        ConfigModule.forRoot(config),
        LifecycleModule,
        LoggingModule,
        MetricsModule.forRoot(),
        AuthModule,
      ],
      controllers: [SomeController],
      providers: [{ provide: APP_FILTER, useClass: ProblemFilter }],
    })
    class TestModule {}
    const module = await Test.createTestingModule({ imports: [TestModule] })
      .overrideProvider('pino-params')
      .useFactory({
        inject: [RequestContext],
        factory: (context: RequestContext) => {
          const params = loggingParams(config, context);
          return { ...params, pinoHttp: [params.pinoHttp, destination] };
        },
      })
      .compile();
    app = module.createNestApplication<NestFastifyApplication>(
      new FastifyAdapter({ genReqId: () => 'req-7' }),
    );
    app.useLogger(app.get(Logger));
    registerRequestHooks(app, 100);
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    expect(app.get(APP_CONFIG)).toBe(config);
  });

  afterAll(() => app.close());
  beforeEach(() => void lines.splice(0));

  const entries = () => lines.map((line) => JSON.parse(line));
  const http = () => request.agent(app.getHttpServer()).set('authorization', `Bearer ${adminKey}`);

  it('writes JSON lines with string timestamp and level, the request id and no payload', async () => {
    await http()
      .post('/work?token=abc')
      .set('authorization', `Bearer ${adminKey}`)
      .send({ secret: 'payload-x' })
      .expect(201);
    const [working, tool, done] = entries();
    expect(working).toMatchObject({ level: 'warn', msg: 'working', context: 'some', req: { id: 'req-7' } });
    expect(working.timestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(tool).toMatchObject({ level: 'debug', tool: 'echo', event: 'execute', requestId: 'r-1' });
    expect(done).toMatchObject({
      level: 'debug',
      req: { id: 'req-7', method: 'POST', path: '/work' },
      res: { statusCode: 201 },
    });
    expect(done.durationMs).toEqual(expect.any(Number));
    expect(lines.join('')).not.toMatch(/payload-x|token=abc|the-very-secret/);
  });

  it('writes a reason that is no error as it is', () => {
    const entry = { file: 'some/tool.json', err: 'Unexpected end of JSON input' };
    new NestLogger('some').error(entry, 'was not imported');
    expect(entries()).toMatchObject([{ level: 'error', ...entry, msg: 'was not imported' }]);
  });

  it('hides passwords of URLs in errors', async () => {
    await http().get('/fail').expect(500);
    expect(lines.join('')).toContain('postgres://me:[redacted]@db/x');
    expect(lines.join('')).not.toContain('hunter2');
  });

  it('hides headers, passwords and environments that somebody logs', async () => {
    (await app.resolve(PinoLogger)).info({
      headers: { authorization: 'Bearer x1', cookie: 'x2', 'x-api-key': 'x3', accept: 'json' },
      req: { headers: { 'x-api-key': 'x4' } },
      env: { TOKEN: 'x5' },
      spec: { env: { TOKEN: 'x6' } },
      database: { password: 'x7' },
      note: adminKey,
    });
    expect(lines.join('')).not.toMatch(/x[1-7]"|the-very-secret/);
    expect(entries()[0]).toMatchObject({
      headers: { accept: 'json', cookie: '[redacted]' },
      note: '[redacted]',
    });
  });

  it('does not log probes and scrapes', async () => {
    await http().get('/livez').expect(200);
    await http().get('/metrics').expect(200);
    expect(lines).toEqual([]);
  });

  it('logs every event of a tool in the documented format', () => {
    const log = app.get(ToolLog);
    const written: ToolLogEntry[] = [
      { tool: 't', event: 'spawn', durationMs: 12, pid: 5 },
      { tool: 't', event: 'execute', requestId: 'r' },
      { tool: 't', event: 'response', requestId: 'r', durationMs: 3 },
      { tool: 't', event: 'error', requestId: 'r', error: 'broke' },
      { tool: 't', event: 'health' },
      { tool: 't', event: 'health', error: 'silent' },
      { tool: 't', event: 'terminate', reason: 'idle', exitCode: 0 },
      { tool: 't', event: 'terminate', reason: 'crash', error: 'exit code 1' },
    ];
    for (const entry of written) log.write(entry);
    expect(log.isVerbose).toBe(true);
    expect(entries()).toMatchObject(written);
    expect(entries().map(({ level }) => level)).toEqual([
      'info',
      'debug',
      'debug',
      'error',
      'debug',
      'warn',
      'info',
      'warn',
    ]);
    expect(entries().every(({ timestamp }) => typeof timestamp === 'string')).toBe(true);
  });
});
