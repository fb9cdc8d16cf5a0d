import { rmSync } from 'node:fs';
import {
  Controller,
  Delete,
  Get,
  type INestApplication,
  Module,
  Patch,
  Post,
  Put,
  type Type,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { AuditLog } from '../../src/web/auth/audit/audit-log.js';
import { FleetBarrier } from '../../src/base/database/fleet-barrier.js';
import { AuthModule } from '../../src/web/auth/auth.module.js';
import { hashOfKey, KnownKeys, newKey } from '../../src/web/auth/known-keys.js';
import { CurrentPrincipal } from '../../src/web/auth/principal.decorator.js';
import { Public, Scopes } from '../../src/web/auth/scopes.decorator.js';
import { ProblemFilter } from '../../src/web/rest/problem.filter.js';
import { LifecycleModule } from '../../src/edge/http/lifecycle.module.js';
import { ConfigModule, loadConfig } from '../../src/base/config/app-config.js';
import { registerRequestHooks } from '../../src/edge/http/request-hooks.js';
import { LoggingModule } from '../../src/base/observability/logging.module.js';
import { MetricsModule } from '../../src/base/observability/metrics.module.js';
import { type Principal, type Scope, scopes } from '../../src/web/contract/principal.js';
import { supertest as request } from '../support/http.js';
import { makeTestFolder } from '../support/test-folder.js';

const key = 'a-key-of-enough-length';
/** The entries that an audit log would store. */
const audited: object[] = [];
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
  @Scopes('admin')
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

/** real: Nest, Fastify, OpenAPI routes, HTTP. */
async function start(variables: NodeJS.ProcessEnv, ...controllers: Type[]): Promise<NestFastifyApplication> {
  @Module({
    imports: [
      ConfigModule.forRoot(loadConfig({ TOOLKEEPER_DATA_DIR: folder, ...variables })),
      LifecycleModule,
      LoggingModule,
      MetricsModule.forRoot(),
      AuthModule,
    ],
    controllers: [ThingsController, ...controllers],
    providers: [
      { provide: APP_FILTER, useClass: ProblemFilter },
      { provide: AuditLog, useValue: { write: (entry: object) => void audited.push(entry) } },
      { provide: FleetBarrier, useValue: { pass: () => Promise.resolve([]) } },
    ],
  })
  class TestModule {}
  const module = await Test.createTestingModule({ imports: [TestModule] }).compile();
  const app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  const fastify = app.getHttpAdapter().getInstance();
  // As the server does: before there is any route.
  registerRequestHooks(app, 100);
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
    for (const path of ['/things', '/metrics', '/docs/asset.css', '/docs-json', '/nowhere']) {
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
    for (const path of ['/metrics', '/docs/asset.css', '/docs-json']) {
      await http().get(path).set('x-api-key', key).expect(200);
    }
    await http().get('/things').set('x-api-key', `${key}x`).expect(401);
  });

  it('opens metrics and documentation where the operator says so', async () => {
    app = await start({ ADMIN_API_KEY: key, PUBLIC: 'metrics, docs' });
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
    for (const path of ['/things', '/docs-json', '/metrics']) {
      const { body } = await http().get(path).set('host', 'rebound.example').expect(403);
      expect(body.code).toBe('forbidden');
      expect(body.detail).toContain('ALLOWED_HOSTS');
    }
    await http().post('/things').set('origin', 'https://evil.example').expect(403);
    await http().get('/things/open').set('host', '10.0.0.7:3000').expect(200);
  });

  it('holds the scopes of a key against the route, before it reads the body', async () => {
    app = await start({ ADMIN_API_KEY: key });
    const withScopes = (...scopes: Scope[]): string => {
      const made = newKey();
      const none = {
        projects: null,
        tools: null,
        mcpServers: null,
        rate: null,
        expiresAt: null,
        revokedAt: null,
        revokedBy: null,
      };
      const by = { name: 'u', owner: 'u', createdBy: 'u', createdAt: new Date(), lastUsedAt: null };
      const stored = { id: made.id, hash: hashOfKey(made.key), scopes, ...none, ...by };
      app?.get(KnownKeys, { strict: false }).replace([stored]);
      return made.key;
    };
    const ask = async (method: 'get' | 'post' | 'head', path: string, ...scopes: Scope[]) => {
      const asked = http()[method](path);
      void asked.set('x-api-key', withScopes(...scopes));
      const { status, body } = await (method === 'post'
        ? asked.set('content-type', 'application/json').send('{"broken')
        : asked);
      return [status, body?.detail?.match(/scope (\S+)\./)?.[1]];
    };
    expect(await ask('get', '/things', 'tools:call')).toEqual([200, undefined]);
    expect(await ask('head', '/things', 'tools:call')).toEqual([200, undefined]);
    expect(await ask('get', '/things', 'metrics:read')).toEqual([403, 'tools:call']);
    expect(await ask('get', '/metrics', 'metrics:read')).toEqual([200, undefined]);
    expect(await ask('get', '/metrics', 'tools:call')).toEqual([403, 'metrics:read']);
    expect((await ask('post', '/things', 'admin'))[0]).toBe(400);
    expect(await ask('post', '/things', 'tools:call', 'tools:admin')).toEqual([403, 'admin']);
  });

  it('has an entry written for a route of administrators alone, its class saying so or the route itself', async () => {
    @Controller('acts')
    @Scopes('tools:admin')
    class ActsController {
      @Post('own')
      own(): object {
        return {};
      }
      @Post('call')
      @Scopes('tools:call')
      call(): object {
        return {};
      }
      @Post('open')
      @Public()
      open(): object {
        return {};
      }
      @Get('own')
      read(): object {
        return {};
      }
    }
    app = await start({ ADMIN_API_KEY: key }, ActsController);
    audited.length = 0;
    for (const path of ['/acts/own', '/acts/call', '/acts/open', '/things', '/things/call'])
      await http().post(path).set('x-api-key', key).expect(201);
    await http().get('/acts/own').set('x-api-key', key).expect(200);
    expect(audited).toMatchObject([
      { action: 'own', target: '/acts/own', status: 201, keyId: 'admin' },
      { action: 'create', target: '/things', status: 201 },
    ]);
  });

  it.each(['get', 'post', 'put', 'patch', 'delete'] as const)(
    'does not start with a %s route that declares no access',
    async (method) => {
      const declared = await start({});
      await declared.close();
      const decorator = { get: Get, post: Post, put: Put, patch: Patch, delete: Delete }[method];
      @Controller('silent')
      class SilentController {
        @decorator()
        act(): object {
          return {};
        }
      }
      await expect(start({}, SilentController)).rejects.toThrow(
        new RegExp(`${method.toUpperCase()}.* /silent declares neither @Scopes\\(\\) nor @Public\\(\\)`),
      );
    },
  );

  it('builds several apps in one process', async () => {
    app = await start({});
    const second = await start({ ADMIN_API_KEY: key });
    await http().get('/metrics').expect(200);
    await request(second.getHttpServer()).get('/metrics').expect(401);
    await second.close();
  });
});
