import { Logger } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import { loadConfig } from '../config/app-config.js';
import type { ExecutionEvent } from '../tool-metrics/execution-event.js';
import { ExecutionEvents } from '../tool-metrics/execution-events.js';
import type { FaultSample } from '../tool-metrics/tool-metrics.repository.js';
import { CircuitBreakers } from './circuit-breakers.js';
import { KnownTools } from './known-tools.js';

const success = { status: 'success', fault: false } as const;
const fault = { status: 'error', errorType: 'tool_crashed', fault: true } as const;
const invalidParams = { status: 'error', errorType: 'tool_error', fault: false } as const;

function setUp(samples: () => Promise<FaultSample[]> = async () => []) {
  const clock = { time: Date.parse('2026-01-23T10:30:00.000Z'), now: () => clock.time };
  const events = new ExecutionEvents();
  const known = new KnownTools();
  const asked: Date[] = [];
  const rows = {
    getFaultSamples: (since: Date) => {
      asked.push(since);
      return samples();
    },
  };
  const circuits = new CircuitBreakers(loadConfig({}), clock, () => 0, events, rows as never, known);
  circuits.onModuleInit();
  known.set([{ name: 'search' }]);
  let count = 0;
  const say = (times: number, end: Partial<ExecutionEvent> & Pick<ExecutionEvent, 'status' | 'fault'>) => {
    for (let i = 0; i < times; i++) {
      const executionId = `call-${count++}`;
      const base = {
        executionId,
        tool: 'search',
        executionTimeMs: 1,
        at: clock.time,
        test: false,
        probe: false,
      };
      events.emit({ ...base, ...end });
    }
  };
  return { clock, events, known, circuits, say, asked };
}

beforeAll(() => Logger.overrideLogger(false));
afterAll(() => Logger.overrideLogger(['log', 'warn', 'error', 'fatal']));

describe('what a circuit hears', () => {
  it('opens it, and shows why, since when and until when', () => {
    const { circuits, say } = setUp();
    say(5, fault);
    const reason = '5 of 5 calls in the last 300 s were tool faults';
    expect(circuits.circuitOf('search')).toEqual({
      tool: 'search',
      state: 'open',
      reason,
      since: '2026-01-23T10:30:00.000Z',
      nextProbeAt: '2026-01-23T10:30:30.000Z',
      faultsInWindow: 5,
      callsInWindow: 5,
      history: [{ at: '2026-01-23T10:30:00.000Z', from: 'closed', to: 'open', reason }],
    });
    expect(circuits.admit('search', 'next').kind).toBe('refuse');
  });

  it('keeps the circuits of tools apart', () => {
    const { circuits, say } = setUp();
    say(5, { ...fault, tool: 'other' });
    expect(circuits.circuitOf('other').state).toBe('open');
    expect(circuits.circuitOf('search').state).toBe('closed');
  });

  it("counts a tool's answer of -32602 as a success: the tool is alive", () => {
    const { circuits, say } = setUp();
    say(6, invalidParams);
    say(5, fault);
    expect(circuits.circuitOf('search')).toMatchObject({
      state: 'closed',
      callsInWindow: 11,
      faultsInWindow: 5,
    });
  });

  it.each(['cancelled', 'interrupted', 'upstream_unavailable'] as const)('ignores %s', (errorType) => {
    const { circuits, say } = setUp();
    say(6, { status: 'error', errorType, fault: false });
    expect(circuits.circuitOf('search')).toMatchObject({ callsInWindow: 0, faultsInWindow: 0 });
  });

  it("ignores operators' trials", () => {
    const { circuits, say } = setUp();
    say(6, { ...fault, test: true });
    expect(circuits.circuitOf('search')).toMatchObject({ state: 'closed', callsInWindow: 0 });
  });

  it('is nothing more after the shutdown', () => {
    const { circuits, say } = setUp();
    circuits.onApplicationShutdown();
    say(6, fault);
    expect(circuits.circuitOf('search').state).toBe('closed');
  });

  it('lets it half-open and close again', () => {
    const { circuits, clock, say } = setUp();
    say(5, fault);
    clock.time += 30_000;
    for (const executionId of ['a', 'b', 'c']) {
      expect(circuits.admit('search', executionId).kind).toBe('probe');
      say(1, { ...success, executionId, probe: true });
    }
    const { state, history, nextProbeAt } = circuits.circuitOf('search');
    expect({ state, nextProbeAt }).toEqual({ state: 'closed', nextProbeAt: null });
    expect(history.map(({ to }) => to)).toEqual(['open', 'half_open', 'closed']);
  });
});

describe('by hand', () => {
  it('opens, closes and resets, with the given reason or its own', () => {
    const { circuits } = setUp();
    expect(circuits.open('search', 'maintenance')).toMatchObject({ state: 'open', reason: 'maintenance' });
    expect(circuits.open('search')).toMatchObject({
      state: 'open',
      reason: 'Opened by hand',
      nextProbeAt: null,
    });
    expect(circuits.close('search')).toMatchObject({ state: 'closed', reason: 'Closed by hand' });
    expect(circuits.reset('search')).toMatchObject({ state: 'closed', reason: 'Reset by hand' });
  });

  it('keeps the last 50 changes', () => {
    const { circuits } = setUp();
    for (let i = 1; i <= 60; i++) circuits.close('search', `change ${i}`);
    const { history } = circuits.circuitOf('search');
    expect(history).toHaveLength(50);
    expect([history[0]?.reason, history[49]?.reason]).toEqual(['change 11', 'change 60']);
  });

  it('refuses tools that nobody knows, and remembers nothing of them', () => {
    const { circuits } = setUp();
    for (const ask of [
      () => circuits.circuitOf('nobody'),
      () => circuits.open('nobody'),
      () => circuits.close('nobody'),
      () => circuits.reset('nobody'),
    ]) {
      expect(ask).toThrow(Problem);
    }
  });
});

describe('at the start', () => {
  const at = new Date('2026-01-23T10:29:50.000Z');

  it('takes over what the last window holds', async () => {
    const failing = Array.from({ length: 5 }, () => ({ tool: 'search', at, fault: true }));
    const { circuits, asked } = setUp(async () => [...failing, { tool: 'other', at, fault: true }]);
    await circuits.onApplicationBootstrap();
    expect(asked).toEqual([new Date('2026-01-23T10:25:00.000Z')]);
    expect(circuits.circuitOf('search')).toMatchObject({
      state: 'open',
      since: '2026-01-23T10:29:50.000Z',
      nextProbeAt: '2026-01-23T10:30:20.000Z',
    });
    expect(circuits.circuitOf('other')).toMatchObject({ state: 'closed', faultsInWindow: 1 });
  });

  it('goes on with closed circuits when the history cannot be read', async () => {
    const { circuits } = setUp(() => Promise.reject(new Error('no database')));
    await circuits.onApplicationBootstrap();
    expect(circuits.circuitOf('search').state).toBe('closed');
  });
});

it('does not grow without bound: circuits of tools that are gone make room', () => {
  const { circuits, known } = setUp();
  circuits.open('search', 'maintenance');
  for (let i = 0; i < 10_000; i++) circuits.admit(`gone-${i}`, 'call');
  known.set([{ name: 'search' }]);
  expect(() => circuits.circuitOf('gone-0')).toThrow(Problem);
  expect(circuits.circuitOf('gone-9999').state).toBe('closed');
  expect(circuits.circuitOf('search').reason).toBe('maintenance');
});
