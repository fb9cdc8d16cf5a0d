import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { AuthModule } from '../../src/auth/auth.module.js';
import { Lifecycle } from '../../src/common/lifecycle.js';
import { LifecycleModule } from '../../src/common/lifecycle.module.js';
import { ProblemFilter } from '../../src/common/problem.filter.js';
import { StartupWork } from '../../src/common/startup-work.js';
import { loadConfig } from '../../src/config/app-config.js';
import { ConfigModule } from '../../src/config/config.module.js';
import { DatabaseHealth } from '../../src/database/database-health.js';
import { HealthController } from '../../src/health/health.controller.js';
import { HealthService } from '../../src/health/health.service.js';
import { PlaybookEmbeddings } from '../../src/playbook-search/embeddings/playbook-embeddings.js';
import { SandboxModule } from '../../src/sandbox/sandbox.module.js';
import { KnownTools } from '../../src/tool-health/known-tools.js';
import { ExecutionRecorder } from '../../src/tool-metrics/execution-recorder.js';
import { ToolRegistry } from '../../src/tools/tool-registry.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { supertest as request } from '../support/http.js';
import { TestJournal } from '../support/journal.js';
import { until } from '../support/wait.js';

/** What the indicator reads of it; the search by meaning has tests of its own. */
const embeddings = { state: () => ({ provider: 'bundled', vectors: 3, degraded: 'indexing' }) };

/** real: Nest, Fastify, Terminus, PostgreSQL, the auth hook with a key, HTTP. */
describe('health', () => {
  let database: TestDatabase;
  let app: NestFastifyApplication;

  beforeEach(async () => {
    database = await createTestDatabase();
    @Module({
      imports: [
        ConfigModule.forRoot(loadConfig({ ADMIN_API_KEY: 'a-key-of-enough-length' })),
        LifecycleModule,
        AuthModule,
        SandboxModule,
        TerminusModule.forRoot({ logger: false }),
      ],
      controllers: [HealthController],
      providers: [
        HealthService,
        KnownTools,
        ToolRegistry,
        {
          provide: ExecutionRecorder,
          useValue: new ExecutionRecorder(new TestJournal(), { maxBytes: 50, whenFull: 'refuse' }),
        },
        { provide: DatabaseHealth, useValue: new DatabaseHealth(database.dataSource) },
        { provide: PlaybookEmbeddings, useValue: embeddings },
        { provide: APP_FILTER, useClass: ProblemFilter },
      ],
    })
    class TestModule {}
    const module = await Test.createTestingModule({ imports: [TestModule] }).compile();
    app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
  });

  afterEach(async () => {
    await app.get(ExecutionRecorder).close();
    await app.close();
    await database.drop();
  });

  const probe = (path: string) => request(app.getHttpServer()).get(path);
  /** What /readyz answers when the database has answered in time. */
  const readyz = (expected: 200 | 503) =>
    until(
      async () => {
        const { status, body } = await probe('/readyz');
        return status === expected && body.details.database.status === 'up' && body;
      },
      { what: `${expected} of /readyz` },
    );

  it('lives as soon as it answers', async () => {
    const { body, headers } = await probe('/livez').expect(200);
    expect(body).toEqual({ status: 'ok', info: {}, error: {}, details: {} });
    expect(headers['cache-control']).toContain('no-store');
  });

  it('is not started or ready before it listens', async () => {
    expect((await probe('/startupz').expect(503)).body.error.startup.status).toBe('down');
    expect((await readyz(503)).error).toEqual({
      server: { status: 'down', state: 'starting' },
    });
  });

  it('waits for the work of the start', async () => {
    const spawn = Promise.withResolvers<void>();
    const work = app.get(StartupWork);
    work.register('custom tools', spawn.promise);
    app.get(Lifecycle).ready();
    const { body } = await probe('/startupz').expect(503);
    expect(body).toMatchObject({
      status: 'error',
      error: { startup: { status: 'down', parts: { 'custom tools': 'running' } } },
    });
    expect((await readyz(503)).error).toEqual({
      tools: { status: 'down', registered: 0, message: 'still loading' },
    });
    spawn.resolve();
    await work.settled();
    expect((await probe('/startupz').expect(200)).body.status).toBe('ok');
    expect((await readyz(200)).details).toEqual({
      server: { status: 'up', state: 'ready' },
      database: { status: 'up', responseTime: expect.any(Number) },
      // It holds nothing back: playbooks are searched by words meanwhile.
      embeddings: { status: 'degraded', provider: 'bundled', vectors: 3, message: 'indexing' },
      tools: { status: 'up', registered: 0 },
      sandbox: expect.objectContaining({ enabled: true, policy: 'enforce' }),
      recorder: { status: 'up', depth: 0, oldestMs: 0, bytes: 0, dropped: 0, damagedLines: 0 },
    });
  });

  it('is not ready while calls are refused because their records cannot be promised', async () => {
    app.get(Lifecycle).ready();
    await readyz(200);
    const recorder = app.get(ExecutionRecorder);
    await recorder.begin({ executionId: 'x', toolName: 'a name', userId: 'u', startedAt: 1, metadata: {} });
    const { error } = await readyz(503);
    expect(error.recorder).toMatchObject({
      status: 'down',
      message: 'the journal is at its cap: calls are refused (recorder_full)',
    });
    recorder.discard('x');
  });

  it('serves, and says so, when a part of the start failed', async () => {
    const work = app.get(StartupWork);
    work.register('custom tools', Promise.reject(new Error('no interpreter')));
    await work.settled();
    app.get(Lifecycle).ready();
    const { body } = await probe('/startupz').expect(200);
    expect(body.status).toBe('degraded');
    expect(body.details.startup.parts['custom tools']).toBe('failed');
    await readyz(200);
  });

  it('is not ready without its database, but lives', async () => {
    app.get(Lifecycle).ready();
    await readyz(200);
    await database.dataSource.destroy();
    const { body } = await probe('/readyz').expect(503);
    expect(body.error).toEqual({
      database: { status: 'down', message: 'does not answer', responseTime: expect.any(Number) },
    });
    await probe('/livez').expect(200);
  });

  it('is not ready while it drains, but lives and has started', async () => {
    app.get(Lifecycle).ready();
    app.get(Lifecycle).drain();
    expect((await readyz(503)).error).toEqual({
      server: { status: 'down', state: 'draining' },
    });
    await probe('/livez').expect(200);
    await probe('/startupz').expect(200);
  });
});
