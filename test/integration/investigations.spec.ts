import { Deadline } from '../../src/base/common/deadline.js';
import { Injectable, Module, UseGuards } from '@nestjs/common';
import { APP_FILTER, APP_PIPE, ExternalContextCreator } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditLog } from '../../src/web/auth/audit/audit-log.js';
import { FleetBarrier } from '../../src/base/database/fleet-barrier.js';
import { AuthModule } from '../../src/web/auth/auth.module.js';
import { Refusal } from '../../src/base/common/errors.js';
import { ProblemFilter } from '../../src/web/rest/problem.filter.js';
import { DtoPipe } from '../../src/web/rest/dto.pipe.js';
import { ConfigModule, loadConfig } from '../../src/base/config/app-config.js';
import { InvestigationBudgetGuard } from '../../src/call/budgets/investigation-budget.guard.js';
import { InvestigationsController } from '../../src/call/budgets/investigations.controller.js';
import { InvestigationsService } from '../../src/call/budgets/investigations.service.js';
import { CountersModule } from '../../src/base/counters/counters.module.js';
import { CallTicket } from '../../src/web/contract/call-ticket.js';
import type { Tool } from '../../src/web/contract/tool.js';
import type { ToolCall } from '../../src/web/contract/tool-call.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { supertest as request } from '../support/http.js';

/** Nothing is done by hand that the audit is asked for. */
const noAudit = { provide: AuditLog, useValue: { write: () => Promise.resolve() } };
const alone = { provide: FleetBarrier, useValue: { pass: () => Promise.resolve([]) } };

@Injectable()
class Gateway {
  @UseGuards(InvestigationBudgetGuard)
  async execute(call: ToolCall): Promise<string> {
    return call.ticket.executionId;
  }
}

const toolNamed = (name: string, more: Partial<Tool['definition']> = {}): Tool => ({
  definition: {
    name,
    description: name,
    kind: 'builtin',
    version: '1.0.0',
    inputSchema: {},
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: [],
    timeoutMs: 1_000,
    ...more,
  },
  validate: () => [],
  run: async () => ({}),
});

const callOf = (tool: Tool, investigationId?: string, test = false): ToolCall => ({
  tool: tool.definition.name,
  input: {},
  context: { userId: 'u', requestId: 'r', projectId: 'default', investigationId },
  principal: { userId: 'u', scopes: new Set() },
  test,
  ticket: new CallTicket('e-1', tool, Deadline.ofSmallest([])),
});

const key = 'a-key-of-enough-length';

/** real: Nest, Fastify, PostgreSQL, the guard in a context of type `tool`, HTTP. */
describe.each(['in memory', 'in the database'])('investigations %s', (where) => {
  let db: TestDatabase;
  let app: NestFastifyApplication;
  let execute: (call: ToolCall) => Promise<string>;

  beforeEach(async () => {
    db = await createTestDatabase();
    await start();
  });

  async function start(): Promise<void> {
    if (!db.dataSource.isInitialized) await db.dataSource.initialize();
    const variables = where === 'in memory' ? {} : { DATABASE_URL: db.url };
    @Module({
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({ type: 'postgres' }),
          dataSourceFactory: async () => db.dataSource,
        }),
        ConfigModule.forRoot(loadConfig({ ADMIN_API_KEY: key, ...variables })),
        {
          module: class Audit {},
          global: true,
          providers: [noAudit, alone],
          exports: [AuditLog, FleetBarrier],
        },
        AuthModule,
        CountersModule,
      ],
      controllers: [InvestigationsController],
      providers: [
        Gateway,
        InvestigationsService,
        { provide: APP_FILTER, useClass: ProblemFilter },
        { provide: APP_PIPE, useClass: DtoPipe },
      ],
    })
    class TestModule {}
    const module = await Test.createTestingModule({ imports: [TestModule] }).compile();
    app = module.createNestApplication<NestFastifyApplication>(
      new FastifyAdapter({ routerOptions: { maxParamLength: 512 } }),
    );
    app
      .getHttpAdapter()
      .getInstance()
      .addHook('onRequest', async (asked) => {
        asked.principal = { userId: 'operator', scopes: new Set() };
      });
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    const gateway = app.get(Gateway);
    execute = app
      .get(ExternalContextCreator, { strict: false })
      .create(
        gateway,
        Reflect.get(gateway, 'execute') as never,
        'execute',
        '',
        undefined,
        undefined,
        '',
        { guards: true, interceptors: true, filters: false },
        'tool',
      );
  }

  afterEach(async () => {
    await app.close();
    await db.release();
  });

  const http = () => request.agent(app.getHttpServer()).set('x-api-key', key);
  const path = '/api/v1/investigations/inc-1';
  const search = toolNamed('search');

  async function refusalOf(call: ToolCall): Promise<Refusal> {
    const error: unknown = await execute(call).catch((thrown: unknown) => thrown);
    if (error instanceof Refusal) return error;
    throw new Error(`not refused: ${String(error)}`);
  }

  it('admits exactly the budget of 50 concurrent calls', async () => {
    const calls = Array.from({ length: 50 }, () => callOf(search, 'inc-1'));
    const results = await Promise.allSettled(calls.map((call) => execute(call)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(calls.filter(({ ticket }) => ticket.budget).map(({ ticket }) => ticket.budget?.remaining)).toEqual(
      [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    );
    const { body } = await http().get(path).expect(200);
    expect(body).toEqual({
      investigationId: 'inc-1',
      project: 'default',
      callsPerTool: 10,
      resetsAt: expect.stringMatching(/^\d{4}-.*Z$/),
      lastCallAt: expect.stringMatching(/^\d{4}-.*Z$/),
      tools: [{ tool: 'search', limit: 10, used: 10, remaining: 0 }],
    });
  });

  it('refuses with what helps a model: the limit and headers, and no route of operators', async () => {
    const tool = toolNamed('search', { callsPerInvestigation: 1 });
    await execute(callOf(tool, 'inc 1/x'));
    const refusal = await refusalOf(callOf(tool, 'inc 1/x'));
    expect(refusal.code).toBe('investigation_budget_spent');
    expect(refusal.detail).toContain('Max 1 search calls per investigation exceeded');
    expect(refusal.detail).not.toMatch(/api|PATCH|inc 1/);
    expect(refusal.details.headers).toMatchObject({ 'RateLimit-Limit': '1', 'RateLimit-Remaining': '0' });
    expect(Number(refusal.details.headers?.['RateLimit-Reset'])).toBeGreaterThan(86_000);
    const { body } = await http().get('/api/v1/investigations/inc%201%2Fx').expect(200);
    expect(body.tools).toEqual([{ tool: 'search', limit: 1, used: 1, remaining: 0 }]);
  });

  it('gives the unit back when the call is refused after all', async () => {
    const call = callOf(search, 'inc-1');
    await execute(call);
    call.ticket.end(true);
    await execute(callOf(search, 'inc-2'));
    const { body } = await http().get(path).expect(200);
    expect(body.tools).toEqual([{ tool: 'search', limit: 10, used: 0, remaining: 10 }]);
  });

  it('gives nothing back to an investigation that was reset meanwhile', async () => {
    const call = callOf(search, 'inc-1');
    await execute(call);
    await http().delete(path).expect(204);
    call.ticket.end(true);
    await execute(callOf(search, 'inc-2'));
    await http().get(path).expect(404);
  });

  it('goes on after a restart with what was spent and raised', async () => {
    for (const id of ['inc-1', 'inc-1', 'again', 'reset']) await execute(callOf(search, id));
    await http()
      .patch(path)
      .send({ callsPerTool: 7, tools: { search: 5, constructor: 9 } })
      .expect(200);
    for (const id of ['again', 'reset']) await http().delete(`/api/v1/investigations/${id}`).expect(204);
    await execute(callOf(search, 'again'));
    const list = async () => (await http().get('/api/v1/investigations').expect(200)).body.data;
    const before = await list();
    expect(before).toHaveLength(2);
    await app.close();
    await start();
    expect(await list()).toEqual(expect.arrayContaining(before));
    expect(await list()).toHaveLength(2);
    const call = callOf(search, 'inc-1');
    await execute(call);
    expect(call.ticket.budget?.remaining).toBe(2);
  });

  it('forgets an investigation whose time is over', async () => {
    await execute(callOf(search, 'inc-1'));
    await app.close();
    if (!db.dataSource.isInitialized) await db.dataSource.initialize();
    await db.dataSource.query('UPDATE call_counters SET resets_at = now()');
    await start();
    await http().get(path).expect(404);
    const call = callOf(search, 'inc-1');
    await execute(call);
    expect(call.ticket.budget?.remaining).toBe(9);
  });

  it('lets test runs and calls without an investigation pass', async () => {
    for (const call of [callOf(search), callOf(search, 'inc-1', true)]) {
      await execute(call);
      expect(call.ticket.budget).toBeUndefined();
    }
    await http().get(path).expect(404);
  });

  it('raises, shows and resets over REST', async () => {
    await execute(callOf(search, 'inc-1'));
    const raised = await http()
      .patch(path)
      .send({ callsPerTool: 20, tools: { fetch: 0 } })
      .expect(200);
    expect(raised.body.callsPerTool).toBe(20);
    expect(raised.body.tools).toEqual([
      { tool: 'fetch', limit: 0, used: 0, remaining: null },
      { tool: 'search', limit: 20, used: 1, remaining: 19 },
    ]);
    await http().delete(path).expect(204, '');
    const { body } = await http().get(path).expect(404);
    expect(body).toMatchObject({ code: 'not_found', status: 404 });
    await http().delete(path).expect(204);
  });

  it.each([
    [{}, '/callsPerTool'],
    [{ callsPerTool: -1 }, '/callsPerTool'],
    [{ callsPerTool: 1.5 }, '/callsPerTool'],
    [{ callsPerTool: '20' }, '/callsPerTool'],
    [{ tools: { search: -1 } }, '/tools/search'],
    [{ tools: { search: '5' } }, '/tools/search'],
    [{ tools: ['search'] }, '/tools'],
    [{ tools: 5 }, '/tools'],
    [{ unknown: 1 }, '/unknown'],
  ])('refuses %j naming %s and changes nothing', async (raise, pointer) => {
    const { body } = await http().patch(path).send(raise).expect(400);
    expect(body.code).toBe('invalid_request');
    expect(body.errors[0].pointer).toBe(pointer);
    await http().get(path).expect(404);
  });

  it('refuses an id that is too long', async () => {
    await http()
      .get(`/api/v1/investigations/${'x'.repeat(257)}`)
      .expect(400);
  });
});
