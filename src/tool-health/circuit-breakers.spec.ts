import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import { until } from '../../test/support/wait.js';
import { Problem } from '../common/errors.js';
import { loadConfig } from '../config/app-config.js';
import { CircuitMetrics } from '../observability/circuit-metrics.js';
import type { ExecutionEvent } from '../tool-metrics/execution-event.js';
import { ExecutionEvents } from '../tool-metrics/execution-events.js';
import type { FaultSample } from '../tool-metrics/tool-metrics.repository.js';
import { CircuitBreakers } from './circuit-breakers.js';
import { CircuitEvents, type CircuitTransition } from './circuit-events.js';
import type { CircuitTransitionsRepository } from './circuit-transitions.repository.js';
import { viewOfCircuit } from './circuit-view.js';
import { KnownTools } from './known-tools.js';

const success = { status: 'success', fault: false } as const;
const fault = { status: 'error', errorType: 'tool_crashed', fault: true } as const;
const invalidParams = { status: 'error', errorType: 'tool_error', fault: false } as const;

type Pasts = Awaited<ReturnType<CircuitTransitionsRepository['pasts']>>;

/** Ours: what the database would answer, and the clock. */
function setUp(
  samples: () => Promise<FaultSample[]> = async () => [],
  pasts: Pasts = new Map(),
  replayed: Promise<void> = Promise.resolve(),
) {
  const clock = { time: Date.parse('2026-01-23T10:30:00.000Z'), now: () => clock.time };
  const executions = new ExecutionEvents();
  const transitions = new CircuitEvents();
  const known = new KnownTools();
  const registry = new Registry();
  const asked: Date[] = [];
  const rows = {
    getFaultSamples: (since: Date) => {
      asked.push(since);
      return samples();
    },
    getFaultSamplesOf: async (tool: string, since: Date) => {
      asked.push(since);
      return (await samples()).filter((sample) => sample.tool === tool);
    },
  };
  const written = { pasts: async () => pasts };
  const circuits = new CircuitBreakers(
    loadConfig({}),
    clock,
    () => 0,
    executions,
    transitions,
    rows as never,
    written as never,
    known,
    { replayed } as never,
    new CircuitMetrics(registry),
  );
  const circuitOf = (tool: string) => {
    const { breaker, history } = circuits.find(tool);
    breaker.current();
    return viewOfCircuit(tool, breaker, { transitions: history, complete: true });
  };
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
      executions.emit({ ...base, ...end });
    }
  };
  return { clock, transitions, known, circuits, circuitOf, say, asked, registry };
}

beforeAll(() => Logger.overrideLogger(false));
afterAll(() => Logger.overrideLogger(['log', 'warn', 'error', 'fatal']));

describe('what a circuit hears', () => {
  it('opens it, and shows why, since when and until when', () => {
    const { circuits, circuitOf, say } = setUp();
    say(5, fault);
    const reason = '5 of 5 calls in the last 300 s were tool faults';
    expect(circuitOf('search')).toEqual({
      tool: 'search',
      state: 'open',
      reason,
      by: null,
      since: '2026-01-23T10:30:00.000Z',
      nextProbeAt: '2026-01-23T10:30:30.000Z',
      heldByHand: false,
      faultsInWindow: 5,
      callsInWindow: 5,
      opensAt: { faults: 5, minFailureRate: 0.5, windowMs: 300_000 },
      history: [{ at: '2026-01-23T10:30:00.000Z', from: 'closed', to: 'open', reason, by: null }],
      historyComplete: true,
    });
    expect(circuits.admit('search', 'next').kind).toBe('refuse');
  });

  it('keeps the circuits of tools apart', () => {
    const { circuitOf, say } = setUp();
    say(5, { ...fault, tool: 'other' });
    expect(circuitOf('other').state).toBe('open');
    expect(circuitOf('search').state).toBe('closed');
  });

  it("counts a tool's answer of -32602 as a success: the tool is alive", () => {
    const { circuitOf, say } = setUp();
    say(6, invalidParams);
    say(5, fault);
    expect(circuitOf('search')).toMatchObject({
      state: 'closed',
      callsInWindow: 11,
      faultsInWindow: 5,
    });
  });

  it.each(['cancelled', 'interrupted', 'upstream_unavailable'] as const)('ignores %s', (errorType) => {
    const { circuitOf, say } = setUp();
    say(6, { status: 'error', errorType, fault: false });
    expect(circuitOf('search')).toMatchObject({ callsInWindow: 0, faultsInWindow: 0 });
  });

  it("ignores operators' trials", () => {
    const { circuitOf, say } = setUp();
    say(6, { ...fault, test: true });
    expect(circuitOf('search')).toMatchObject({ state: 'closed', callsInWindow: 0 });
  });

  it('is nothing more after the shutdown', () => {
    const { circuits, circuitOf, say } = setUp();
    circuits.onApplicationShutdown();
    say(6, fault);
    expect(circuitOf('search').state).toBe('closed');
  });

  it('lets it half-open and close again', () => {
    const { circuits, circuitOf, clock, say } = setUp();
    say(5, fault);
    clock.time += 30_000;
    for (const executionId of ['a', 'b', 'c']) {
      expect(circuits.admit('search', executionId).kind).toBe('probe');
      say(1, { ...success, executionId, probe: true });
    }
    const { state, history, nextProbeAt } = circuitOf('search');
    expect({ state, nextProbeAt }).toEqual({ state: 'closed', nextProbeAt: null });
    expect(history.map(({ to }) => to)).toEqual(['open', 'half_open', 'closed']);
  });
});

const hand = { by: 'alice', reason: 'maintenance' };

describe('a change', () => {
  it('is told to whoever listens, once, with the tool and who did it', () => {
    const { circuits, clock, transitions, say } = setUp();
    const heard: CircuitTransition[] = [];
    transitions.subscribe((transition) => heard.push(transition));
    say(7, fault);
    clock.time += 1;
    circuits.find('search').breaker.closeByHand(hand);
    expect(heard).toEqual([
      {
        id: expect.stringMatching(/^[\da-f-]{36}$/),
        tool: 'search',
        at: clock.time - 1,
        from: 'closed',
        to: 'open',
        reason: '5 of 5 calls in the last 300 s were tool faults',
        by: null,
        openings: 1,
      },
      expect.objectContaining({ tool: 'search', from: 'open', to: 'closed', ...hand }),
    ]);
  });

  it('fails no call when a listener throws', () => {
    const { circuits, circuitOf, transitions } = setUp();
    transitions.subscribe(() => {
      throw new Error('a bad listener');
    });
    circuits.find('search').breaker.openByHand(hand);
    expect(circuitOf('search').state).toBe('open');
  });

  it('is kept in memory among the last 50', () => {
    const { circuits, circuitOf } = setUp();
    const { breaker } = circuits.find('search');
    for (let i = 1; i <= 60; i++) breaker.closeByHand({ by: 'alice', reason: `change ${i}` });
    const { history } = circuitOf('search');
    expect(history).toHaveLength(50);
    expect([history[0]?.reason, history[49]?.reason]).toEqual(['change 11', 'change 60']);
  });

  it('that time has brought about is told when somebody looks', () => {
    const { circuits, clock, transitions, say } = setUp();
    say(5, fault);
    const heard: string[] = [];
    transitions.subscribe(({ to }) => heard.push(to));
    clock.time += 30_000;
    expect(heard).toEqual([]);
    circuits.look();
    circuits.look();
    expect(heard).toEqual(['half_open']);
  });
});

it('refuses tools that nobody knows, and remembers nothing of them', () => {
  const { circuits } = setUp();
  expect(() => circuits.find('nobody')).toThrow(Problem);
  expect(() => circuits.find('nobody')).toThrow(Problem);
});

describe("a tool's own thresholds", () => {
  const thresholds = { errorThreshold: 2, windowMinutes: 1 };

  it('stand in for the configured number of faults and window', () => {
    const { circuitOf, known, say } = setUp();
    known.set([{ name: 'search', thresholds }]);
    expect(circuitOf('search').opensAt).toEqual({ faults: 2, minFailureRate: 0.5, windowMs: 60_000 });
    say(2, fault);
    expect(circuitOf('search').state).toBe('open');
  });

  it('take effect on a circuit that is there already, and lose it again', () => {
    const { circuitOf, known, say } = setUp();
    say(3, fault);
    known.set([{ name: 'search', thresholds }]);
    expect(circuitOf('search')).toMatchObject({
      state: 'closed',
      faultsInWindow: 3,
      opensAt: { faults: 2, windowMs: 60_000 },
    });
    known.set([{ name: 'search' }]);
    expect(circuitOf('search').opensAt).toMatchObject({ faults: 5, windowMs: 300_000 });
  });
});

describe('its metrics', () => {
  const valueOf = (text: string, series: string): string | undefined =>
    text
      .split('\n')
      .find((line) => line.startsWith(series))
      ?.slice(series.length + 1);

  it('show the state of every registered tool and how often it changed', async () => {
    const { registry, known, say } = setUp();
    known.set([{ name: 'search' }, { name: 'idle' }]);
    say(5, fault);
    say(5, { ...fault, tool: 'gone' });
    const text = await registry.metrics();
    expect(valueOf(text, 'toolkeeper_circuit_state{tool="search",state="open"}')).toBe('1');
    expect(valueOf(text, 'toolkeeper_circuit_state{tool="search",state="closed"}')).toBe('0');
    expect(valueOf(text, 'toolkeeper_circuit_state{tool="idle",state="closed"}')).toBe('1');
    expect(valueOf(text, 'toolkeeper_circuit_transitions_total{tool="search",to="open"}')).toBe('1');
    expect(text).not.toContain('gone');
  });
});

describe('at the start', () => {
  const at = new Date('2026-01-23T10:29:50.000Z');

  it('takes over what the last window holds', async () => {
    const failing = Array.from({ length: 5 }, () => ({ tool: 'search', at, fault: true }));
    const { circuits, circuitOf, known, asked } = setUp(async () => [
      ...failing,
      { tool: 'other', at, fault: true },
    ]);
    known.set([{ name: 'search' }, { name: 'other' }]);
    await circuits.onApplicationBootstrap();
    // A fault of the last window is judged by the window that it ended.
    expect(asked).toEqual([new Date('2026-01-23T10:20:00.000Z')]);
    expect(circuitOf('search')).toMatchObject({
      state: 'open',
      since: '2026-01-23T10:29:50.000Z',
      nextProbeAt: '2026-01-23T10:30:20.000Z',
    });
    expect(circuitOf('other')).toMatchObject({ state: 'closed', faultsInWindow: 1 });
  });

  it('holds open what was opened by hand, and counts nothing from before a closing', async () => {
    const failing = (tool: string) => Array.from({ length: 5 }, () => ({ tool, at, fault: true }));
    const pasts: Pasts = new Map([
      ['search', { lastState: 'open', held: { at: at.getTime(), ...hand } }],
      ['mended', { lastState: 'closed', closedAt: at.getTime() + 1 }],
    ]);
    const { circuits, circuitOf, known } = setUp(async () => failing('mended'), pasts);
    known.set([{ name: 'search' }, { name: 'mended' }]);
    await circuits.onApplicationBootstrap();
    expect(circuitOf('search')).toMatchObject({
      state: 'open',
      heldByHand: true,
      nextProbeAt: null,
      since: at.toISOString(),
      ...hand,
    });
    expect(circuitOf('mended')).toMatchObject({ state: 'closed', faultsInWindow: 0 });
  });

  it('shows what was held open, and lets it be closed, while its tool is disabled', async () => {
    const pasts: Pasts = new Map([['off', { lastState: 'open', held: { at: at.getTime(), ...hand } }]]);
    const { circuits, circuitOf } = setUp(async () => [], pasts);
    await circuits.onApplicationBootstrap();
    expect(circuitOf('off')).toMatchObject({ state: 'open', heldByHand: true });
    circuits.find('off').breaker.closeByHand(hand);
    expect(circuitOf('off')).toMatchObject({ state: 'closed' });
    expect(() => circuits.find('never')).toThrow('There is no circuit');
  });

  it('reads two windows of a tool whose window is longer than the configured one', async () => {
    const minutesFromNow = [-50, -40, -30, -20, -1, 1];
    const { circuits, circuitOf, known, clock, asked } = setUp(async () =>
      minutesFromNow.map((minutes) => ({
        tool: 'patient',
        at: new Date(clock.time + minutes * 60_000),
        fault: true,
      })),
    );
    await circuits.onApplicationBootstrap();
    known.set([{ name: 'patient', thresholds: { windowMinutes: 60 } }]);
    await until(() => circuitOf('patient').faultsInWindow > 0, { what: 'the past to be read' });
    expect(circuitOf('patient')).toMatchObject({ state: 'half_open', faultsInWindow: 5 });
    expect(asked.at(-1)).toEqual(new Date(clock.time - 2 * 60 * 60_000));
    const questions = asked.length;
    known.set([{ name: 'patient', thresholds: { windowMinutes: 90 } }]);
    expect(asked).toHaveLength(questions);
  });

  it('reads no past twice for a tool whose window becomes longer later', async () => {
    const { circuits, circuitOf, known, asked } = setUp(async () => [{ tool: 'search', at, fault: true }]);
    await circuits.onApplicationBootstrap();
    known.set([{ name: 'search', thresholds: { windowMinutes: 60 } }]);
    expect(circuitOf('search')).toMatchObject({ faultsInWindow: 1, opensAt: { windowMs: 3_600_000 } });
    expect(asked).toHaveLength(1);
  });

  it("waits for a tool that is registered later, and judges by that tool's own thresholds", async () => {
    const faulty = (tool: string, count: number) =>
      Array.from({ length: count }, () => ({ tool, at, fault: true }));
    const { circuits, circuitOf, known } = setUp(async () => [
      ...faulty('touchy', 2),
      ...faulty('patient', 10),
    ]);
    await circuits.onApplicationBootstrap();
    known.set([
      { name: 'touchy', thresholds: { errorThreshold: 2 } },
      { name: 'patient', thresholds: { errorThreshold: 50 } },
    ]);
    expect(circuitOf('touchy')).toMatchObject({ state: 'open', faultsInWindow: 2 });
    expect(circuitOf('patient')).toMatchObject({ state: 'closed', faultsInWindow: 10 });
  });

  it('waits for what a gateway that died left in the journal', async () => {
    const journal = Promise.withResolvers<void>();
    const rows: FaultSample[] = [];
    const { circuits, circuitOf, asked } = setUp(async () => rows, new Map(), journal.promise);
    const started = circuits.onApplicationBootstrap();
    await new Promise(setImmediate);
    expect(asked).toEqual([]);
    for (let i = 0; i < 5; i++) rows.push({ tool: 'search', at, fault: true });
    journal.resolve();
    await started;
    expect(circuitOf('search').state).toBe('open');
  });

  it('does not wait for ever: a journal that cannot be replayed does not stop the start', async () => {
    const { circuits, asked } = setUp(undefined, undefined, new Promise(() => undefined));
    await circuits.onApplicationBootstrap();
    expect(asked).toHaveLength(1);
  });

  it('goes on with closed circuits when the history cannot be read', async () => {
    const { circuits, circuitOf } = setUp(() => Promise.reject(new Error('no database')));
    await circuits.onApplicationBootstrap();
    expect(circuitOf('search').state).toBe('closed');
  });
});

it('does not grow without bound: circuits of tools that are gone make room', () => {
  const { circuits, circuitOf } = setUp();
  circuits.find('search').breaker.openByHand(hand);
  circuits.admit('decided', 'call');
  circuits.find('decided').breaker.openByHand(hand);
  for (let i = 0; i < 10_000; i++) circuits.admit(`gone-${i}`, 'call');
  expect(() => circuitOf('gone-0')).toThrow(Problem);
  expect(circuitOf('gone-9999').state).toBe('closed');
  expect(circuitOf('search').reason).toBe('maintenance');
  // What somebody decided is not forgotten.
  expect(circuitOf('decided').state).toBe('open');
});
