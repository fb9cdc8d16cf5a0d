import { rmSync } from 'node:fs';
import { Controller, Get, type INestApplication, Module, Post, UseGuards } from '@nestjs/common';
import { APP_FILTER, ExternalContextCreator, Reflector } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { AccessPolicy } from '../../src/auth/access-policy.js';
import { AuthGuard } from '../../src/auth/auth.guard.js';
import { AuthModule } from '../../src/auth/auth.module.js';
import { CurrentPrincipal } from '../../src/auth/principal.decorator.js';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { ProblemFilter } from '../../src/common/problem.filter.js';
import { LifecycleModule } from '../../src/common/lifecycle.module.js';
import { ConfigModule, loadConfig } from '../../src/config/app-config.js';
import { registerRequestHooks } from '../../src/http/request-hooks.js';
import { LoggingModule } from '../../src/observability/logging.module.js';
import { MetricsModule } from '../../src/observability/metrics.module.js';
import { type Principal, type Scope, scopes } from '../../src/tool-contract/principal.js';
import { supertest as request } from '../support/http.js';
import { makeTestFolder } from '../support/test-folder.js';

const key = 'a-key-of-enough-length';
const folder = makeTestFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

@Controller('things')
class ThingsController {
  @Get()
  @Scopes('tools:call')
  list(@CurrentPrincipal() principal: Principal): object {
    return { userId: principal.userId, scopes: [...principal.scopes] };
  }

  @Post()
  create(@CurrentPrincipal() principal: Principal): object {
    return { userId: principal.userId };
  }

  @Post('call')
  @Scopes('tools:call')
  call(): object {
    return {};
  }

  @Get('open')
  @Public()
  open(): object {
    return { open: true };
  }
}

class Gateway {
  @UseGuards(AuthGuard)
  execute(input: string): string {
    return `ran ${input}`;
  }
}

/** real: Nest, Fastify, OpenAPI routes, HTTP. */
async function start(variables: NodeJS.ProcessEnv): Promise<NestFastifyApplication> {
  @Module({
    imports: [
      ConfigModule.forRoot(loadConfig({ TOOLKEEPER_DATA_DIR: folder, ...variables })),
      LifecycleModule,
      LoggingModule,
      MetricsModule.forRoot(),
      AuthModule,
    ],
    controllers: [ThingsController],
    providers: [{ provide: APP_FILTER, useClass: ProblemFilter }, Gateway],
  })
  class TestModule {}
  const module = await Test.createTestingModule({ imports: [TestModule] }).compile();
  const app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  const fastify = app.getHttpAdapter().getInstance();
  // As the server does: before there is any route.
  registerRequestHooks(app, 100);
  fastify.get('/plain-early', () => 'plain');
  SwaggerModule.setup('docs', app, SwaggerModule.createDocument(app, new DocumentBuilder().build()), {
    ui: false,
  });
  fastify.get('/docs/asset.css', () => 'body {}');
  await app.init();
  await fastify.ready();
  return app;
}

describe('auth', () => {
  let app: INestApplication | undefined;

  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  const http = () => request(app?.getHttpServer());

  it('asks for the key everywhere but at public routes', async () => {
    app = await start({ ADMIN_API_KEY: key });
    for (const path of ['/things', '/metrics', '/docs/asset.css', '/docs-json', '/plain-early', '/nowhere']) {
      const { status, body, headers } = await http().get(path);
      expect([path, status, body.code]).toEqual([path, 401, 'unauthorized']);
      expect(headers['content-type']).toContain('application/problem+json');
      expect(headers['www-authenticate']).toContain('Bearer');
    }
    await http().get('/things/open').expect(200, { open: true });
    await http().head('/things/open').expect(200);
    await http().head('/things').expect(401);
  });

  it('refuses before it reads the body', async () => {
    app = await start({ ADMIN_API_KEY: key });
    await http().post('/things').set('content-type', 'application/json').send('{"broken').expect(401);
  });

  it('serves the owner of the key', async () => {
    app = await start({ ADMIN_API_KEY: key });
    const { body } = await http().get('/things').set('authorization', `Bearer ${key}`).expect(200);
    expect(body).toEqual({ userId: 'admin', scopes: [...scopes] });
    await http().post('/things').set('x-api-key', key).expect(201, { userId: 'admin' });
    for (const path of ['/metrics', '/docs/asset.css', '/docs-json', '/plain-early']) {
      await http().get(path).set('x-api-key', key).expect(200);
    }
    await http().get('/things').set('x-api-key', `${key}x`).expect(401);
  });

  it('opens metrics and documentation where the operator says so', async () => {
    app = await start({ ADMIN_API_KEY: key, METRICS_PUBLIC: 'true', DOCS_PUBLIC: 'true' });
    for (const path of ['/metrics', '/docs-json', '/docs/asset.css']) await http().get(path).expect(200);
    await http().get('/things').expect(401);
  });

  it('lets others read and call on loopback where no key was configured, but only under its own name', async () => {
    app = await start({});
    await http().post('/things/call').expect(201);
    const { body: asked, headers } = await http().post('/things').expect(401);
    expect(asked.detail).toContain('TOOLKEEPER_DATA_DIR/admin.key');
    expect(headers['www-authenticate']).toContain('Bearer');
    await http().get('/things').set('origin', 'http://localhost:5173').expect(200);
    for (const path of ['/things', '/docs-json', '/metrics', '/plain-early']) {
      const { body } = await http().get(path).set('host', 'rebound.example').expect(403);
      expect(body.code).toBe('forbidden');
      expect(body.detail).toContain('ALLOWED_HOSTS');
    }
    await http().post('/things').set('origin', 'https://evil.example').expect(403);
    await http().get('/things/open').set('host', '10.0.0.7:3000').expect(200);
  });

  it('holds scopes against the route: one that says nothing needs admin', async () => {
    app = await start({});
    const guard = scopeGuard(app);
    expect(guard('GET', 'list', ['tools:call'])).toBe(true);
    expect(guard('HEAD', 'list', ['tools:call'])).toBe(true);
    expect(guard('POST', 'call', ['tools:call'])).toBe(true);
    expect(guard('POST', 'create', ['admin'])).toBe(true);
    expect(() => guard('POST', 'create', ['tools:call', 'tools:admin'])).toThrow(/scope admin/);
    expect(() => guard('DELETE', 'create', ['tools:call'])).toThrow(/admin/);
    expect(() => guard('GET', 'list', ['tools:admin'])).toThrow(/tools:call/);
    expect(() => guard('GET', 'list', [])).toThrow(/tools:call/);
  });

  it('leaves calls inside the door alone', async () => {
    app = await start({ ADMIN_API_KEY: key });
    const gateway = app.get(Gateway);
    const run = app
      .get(ExternalContextCreator, { strict: false })
      .create(
        gateway,
        Reflect.get(gateway, 'execute') as never,
        'execute',
        '',
        undefined,
        undefined,
        '',
        undefined,
        'tool',
      );
    expect(await run('it')).toBe('ran it');
  });

  it('builds several apps in one process', async () => {
    app = await start({});
    const second = await start({ ADMIN_API_KEY: key });
    await http().get('/metrics').expect(200);
    await request(second.getHttpServer()).get('/metrics').expect(401);
    await second.close();
  });
});

/** The guard alone, for callers with fewer scopes than the bootstrap key. */
function scopeGuard(app: INestApplication) {
  const guard = new AuthGuard(app.get(Reflector), app.get(AccessPolicy, { strict: false }));
  return (method: string, handler: keyof ThingsController, scopes: Scope[]): boolean => {
    const principal: Principal = { userId: 'u', scopes: new Set(scopes) };
    const http = new ExecutionContextHost([
      { method, headers: {}, routeOptions: { url: '/things', config: {} }, principal },
    ]);
    const host = Object.assign(http, {
      getHandler: () => Reflect.get(ThingsController.prototype, handler),
      getClass: () => ThingsController,
    });
    return guard.canActivate(host);
  };
}
