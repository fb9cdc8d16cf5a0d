import { Logger } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Registry } from 'prom-client';
import { Refusal } from '../common/errors.js';
import { loadConfig } from '../config/app-config.js';
import { CircuitMetrics } from '../observability/circuit-metrics.js';
import { CallTicket } from '../tool-contract/call-ticket.js';
import type { Tool } from '../tool-contract/tool.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import { ExecutionEvents } from '../tool-metrics/execution-events.js';
import { CircuitBreakerGuard } from './circuit-breaker.guard.js';
import { CircuitBreakers } from './circuit-breakers.js';
import { CircuitEvents } from './circuit-events.js';
import { KnownTools } from './known-tools.js';

const fallback = { fallback: 'continue_without_context' };
const tool: Tool = {
  definition: {
    name: 'search',
    description: 'Searches',
    kind: 'builtin',
    version: '1',
    inputSchema: {},
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: [],
    timeoutMs: 1_000,
    fallback,
  },
  validate: () => [],
  run: async () => null,
};

let calls = 0;
function newCall(test = false): ToolCall {
  return {
    tool: 'search',
    input: {},
    context: { userId: 'anonymous', requestId: 'r', projectId: 'default' },
    principal: { userId: 'anonymous', scopes: new Set() },
    test,
    ticket: new CallTicket(`call-${calls++}`, tool),
  };
}

function contextOf(call: unknown, type = 'tool') {
  const context = new ExecutionContextHost([call]);
  context.setType(type);
  return context;
}

function setUp() {
  const clock = { time: 1_000_000, now: () => clock.time };
  const events = new ExecutionEvents();
  const noRows = { getFaultSamples: async () => [], pasts: async () => new Map() };
  const known = new KnownTools();
  const circuits = new CircuitBreakers(
    loadConfig({}),
    clock,
    () => 0,
    events,
    new CircuitEvents(),
    noRows as never,
    noRows as never,
    known,
    { replayed: Promise.resolve() } as never,
    new CircuitMetrics(new Registry()),
  );
  const guard = new CircuitBreakerGuard(circuits);
  const refusalOf = (call: ToolCall): Refusal => {
    try {
      guard.canActivate(contextOf(call));
    } catch (error) {
      if (error instanceof Refusal) return error;
    }
    throw new Error('The call was not refused');
  };
  return { clock, circuits, events, guard, refusalOf };
}

/** The recorder starts a call only when each guard has stamped it. */
function isStamped({ ticket }: ToolCall): boolean {
  ticket.stamp('budget');
  try {
    ticket.start();
    return true;
  } catch {
    return false;
  }
}

beforeAll(() => Logger.overrideLogger(false));
afterAll(() => Logger.overrideLogger(['log', 'warn', 'error', 'fatal']));

it('leaves other kinds of requests alone', () => {
  const { guard } = setUp();
  expect(guard.canActivate(contextOf({}, 'http'))).toBe(true);
});

it('stamps calls of a closed circuit', () => {
  const { guard } = setUp();
  const call = newCall();
  expect(guard.canActivate(contextOf(call))).toBe(true);
  expect(isStamped(call)).toBe(true);
  expect(call.ticket.probe).toBe(false);
});

it('refuses calls of an open circuit with the wait and the fallback, and does not stamp them', () => {
  const { circuits, guard, clock, refusalOf } = setUp();
  guard.canActivate(contextOf(newCall()));
  circuits.find('search').breaker.openByHand({ by: 'alice', reason: 'maintenance' });
  clock.time += 1_000;
  const call = newCall();
  const refusal = refusalOf(call);
  expect(refusal.code).toBe('circuit_open');
  expect(refusal.detail).toBe(
    'search is cut off: maintenance (opened by alice; it stays so until it is closed or reset by hand)',
  );
  expect(refusal.details).toEqual({ retryAfterMs: 300_000, fallback });
  expect(isStamped(call)).toBe(false);
});

it("lets an operator's trial pass an open circuit", () => {
  const { circuits, guard } = setUp();
  guard.canActivate(contextOf(newCall()));
  circuits.find('search').breaker.openByHand({ by: 'alice', reason: 'maintenance' });
  const call = newCall(true);
  expect(guard.canActivate(contextOf(call))).toBe(true);
  expect(isStamped(call)).toBe(true);
  expect(call.ticket.probe).toBe(false);
});

it('marks probes of a half-open circuit and gives their place back when the call ends', () => {
  const { guard, clock, circuits, events, refusalOf } = setUp();
  circuits.onModuleInit();
  for (let i = 0; i < 5; i++) {
    const at = clock.time;
    const end = { tool: 'search', status: 'timeout', errorType: 'timeout', fault: true } as const;
    events.emit({ executionId: `f${i}`, ...end, executionTimeMs: 1, at, test: false, probe: false });
  }
  clock.time += 30_000;
  const probes = [newCall(), newCall(), newCall()];
  for (const probe of probes) guard.canActivate(contextOf(probe));
  expect(probes.map(({ ticket }) => ticket.probe)).toEqual([true, true, true]);
  expect(refusalOf(newCall()).details.retryAfterMs).toBe(1_000);

  probes[0]?.ticket.end(true);
  const next = newCall();
  guard.canActivate(contextOf(next));
  expect(next.ticket.probe).toBe(true);
});
