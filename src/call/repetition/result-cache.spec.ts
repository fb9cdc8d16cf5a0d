import { Cancellation } from '../../base/common/cancellation.js';
import { until } from '../../../test/support/wait.js';
import { Deadline } from '../../base/common/deadline.js';
import { CallTicket } from '../../web/contract/call-ticket.js';
import type { Tool } from '../../web/contract/tool.js';
import type { ToolCall } from '../../web/contract/tool-call.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { noTracer } from '../../base/observability/tracing/tracer.js';
import { ResultCache } from './result-cache.js';

type RunCall = (call: ToolCall) => Promise<ToolOutcome>;

const annotations = { readOnly: true, idempotent: true, destructive: false, openWorld: false };
const toolWith = (changes: Partial<Tool['definition']> = {}): Tool => ({
  definition: {
    name: 'lookup',
    description: '',
    kind: 'builtin',
    version: '1',
    inputSchema: {},
    annotations,
    tags: [],
    timeoutMs: 5_000,
    cacheTtlMs: 1_000,
    ...changes,
  },
  validate: () => [],
  run: async () => undefined,
});

let made = 0;
const callOf = (tool: Tool, changes: Partial<ToolCall> = {}): ToolCall => ({
  tool: tool.definition.name,
  input: { q: 1 },
  context: { userId: 'ann', requestId: 'r', projectId: 'default' },
  principal: { userId: 'admin', scopes: new Set() },
  ticket: new CallTicket(
    `execution-${++made}`,
    tool,
    Deadline.ofSmallest([changes.timeoutMs, tool.definition.timeoutMs]),
  ),
  ...changes,
});

const base = ({ ticket }: ToolCall) => ({
  executionId: ticket.executionId,
  tool: ticket.tool.definition.name,
  executionTimeMs: 1,
  attempts: 1,
  cached: false,
});
const success = (call: ToolCall, result: unknown = call.input): ToolOutcome => ({
  ...base(call),
  status: 'success',
  result,
});
const failure = (call: ToolCall): ToolOutcome => ({
  ...base(call),
  status: 'error',
  error: { code: -32001, type: 'tool_error', message: 'no' },
});

/** What the door does behind its guards: a cached answer is given, anything else is run. */
function setUp(maxBytes = 100_000) {
  let time = 1_000;
  const answers: string[] = [];
  const results = new ResultCache(maxBytes, noTracer, { now: () => time });
  const answer = (call: ToolCall, run: RunCall): Promise<ToolOutcome> =>
    results.answer(call, async (entered) => {
      const { cachedAnswer } = entered.ticket;
      if (!cachedAnswer) return run(entered);
      answers.push(cachedAnswer.how);
      return { ...cachedAnswer.outcome, cached: true };
    });
  const cache = { answer, bytes: () => results.bytes };
  const runs: ToolCall[] = [];
  /** Answers when it is told to, with what it is told. */
  const gates: ((outcome: (call: ToolCall) => ToolOutcome) => void)[] = [];
  const slow = async (call: ToolCall): Promise<ToolOutcome> => {
    runs.push(call);
    const { promise, resolve } = Promise.withResolvers<(call: ToolCall) => ToolOutcome>();
    gates.push(resolve);
    return (await promise)(call);
  };
  const fast = async (call: ToolCall): Promise<ToolOutcome> => {
    runs.push(call);
    return success(call);
  };
  return { cache, answers, runs, gates, slow, fast, pass: (ms: number) => (time += ms) };
}

describe('ResultCache', () => {
  it('keeps a result no longer than it says itself', async () => {
    const { cache, runs, fast, pass } = setUp();
    const tool = toolWith();
    const aged =
      (ttlMs: number): RunCall =>
      (call) => {
        call.ticket.notes.ttlMs = ttlMs;
        return fast(call);
      };
    await cache.answer(callOf(tool, { input: 'half' }), aged(500));
    pass(499);
    expect((await cache.answer(callOf(tool, { input: 'half' }), fast)).cached).toBe(true);
    pass(2);
    await cache.answer(callOf(tool, { input: 'half' }), aged(0));
    await cache.answer(callOf(tool, { input: 'half' }), aged(5_000));
    expect(runs).toHaveLength(3);
    pass(1_001);
    expect((await cache.answer(callOf(tool, { input: 'half' }), fast)).cached).toBe(false);
  });

  it("asks the tool what makes calls equal, beside the call's labels and project", async () => {
    const { cache, runs, fast } = setUp();
    let revision = 1;
    const tool: Tool = {
      ...toolWith(),
      cacheKey: (input) => [revision, (input as { q?: number }).q ?? 7],
    };
    const ask = (input: unknown, labels?: Record<string, string>) =>
      cache.answer(
        callOf(tool, { input, context: { userId: 'ann', requestId: 'r', projectId: 'default', labels } }),
        fast,
      );
    await ask({});
    expect((await ask({ q: 7 })).cached).toBe(true);
    expect((await ask({ q: 7 }, { environment: 'test' })).cached).toBe(false);
    revision = 2;
    expect((await ask({ q: 7 })).cached).toBe(false);
    expect(runs).toHaveLength(3);
  });

  it('answers an equal call with the kept outcome until its time is over', async () => {
    const { cache, runs, fast, answers, pass } = setUp();
    const tool = toolWith();
    const first = await cache.answer(callOf(tool, { input: { a: 1, b: 2 } }), fast);
    pass(999);
    const again = await cache.answer(callOf(tool, { input: { b: 2, a: 1 } }), fast);
    expect(again).toEqual({ ...first, cached: true });
    expect(answers).toEqual(['kept']);
    pass(2);
    expect((await cache.answer(callOf(tool), fast)).cached).toBe(false);
    expect(runs).toHaveLength(2);
  });

  it('tells apart inputs, labels, projects and tools, a changed tool included, but not callers', async () => {
    const { cache, runs, fast } = setUp();
    const tool = toolWith();
    const { context } = callOf(tool);
    const different = [
      callOf(tool),
      callOf(tool, { input: { q: 2 } }),
      callOf(tool, { context: { ...context, labels: { environment: 'staging' } } }),
      callOf(tool, { context: { ...context, projectId: 'p2' } }),
      callOf(toolWith()),
    ];
    for (const call of different) await cache.answer(call, fast);
    expect(runs).toHaveLength(different.length);
    await cache.answer(callOf(tool, { context: { ...context, userId: 'bob', runId: 'r2' } }), fast);
    expect(runs).toHaveLength(different.length);
  });

  it('keeps no failure', async () => {
    const { cache, runs } = setUp();
    const tool = toolWith();
    const fail = async (call: ToolCall) => (runs.push(call), failure(call));
    await cache.answer(callOf(tool), fail);
    expect((await cache.answer(callOf(tool), fail)).status).toBe('error');
    expect(runs).toHaveLength(2);
    expect(cache.bytes()).toBe(0);
  });

  it('stays within its bytes', async () => {
    const { cache } = setUp(10_000);
    const tool = toolWith();
    for (let q = 0; q < 100; q++) {
      await cache.answer(callOf(tool, { input: { q } }), async (call) => success(call, 'x'.repeat(1_000)));
      expect(cache.bytes()).toBeLessThanOrEqual(10_000);
    }
    expect(cache.bytes()).toBeGreaterThan(5_000);
    const huge = callOf(tool, { input: 'huge' });
    await cache.answer(huge, async (call) => success(call, 'x'.repeat(20_000)));
    expect(cache.bytes()).toBeLessThanOrEqual(10_000);
  });

  it('runs once for equal calls that come at once', async () => {
    const { cache, runs, gates, slow, answers } = setUp();
    const tool = toolWith();
    const all = Array.from({ length: 50 }, () => cache.answer(callOf(tool), slow));
    gates[0]?.(success);
    const outcomes = await Promise.all(all);
    expect(runs).toHaveLength(1);
    expect(new Set(outcomes.map(({ executionId }) => executionId)).size).toBe(1);
    expect(outcomes.map(({ cached }) => cached)).toEqual([false, ...Array<boolean>(49).fill(true)]);
    expect(answers).toEqual(Array<string>(49).fill('shared'));
  });

  it.each(['an error', 'a refusal'])('does not give %s of one call to another', async (what) => {
    const { cache, runs, gates, slow, fast } = setUp();
    const tool = toolWith();
    const first = cache.answer(callOf(tool), slow).catch((error: Error) => error.message);
    const second = cache.answer(callOf(tool), fast);
    gates[0]?.((call) => {
      if (what === 'an error') return failure(call);
      throw new Error('refused');
    });
    expect(await first).toEqual(
      what === 'an error' ? expect.objectContaining({ status: 'error' }) : 'refused',
    );
    expect(await second).toMatchObject({ status: 'success', cached: false });
    expect(runs).toHaveLength(2);
    expect((await cache.answer(callOf(tool), fast)).cached).toBe(true);
  });

  it('runs one after the other while they fail, not all at once', async () => {
    const { cache, runs, gates, slow, answers } = setUp();
    const tool = toolWith();
    const all = Array.from({ length: 5 }, () => cache.answer(callOf(tool), slow));
    for (const [n, outcome] of [failure, failure, success].entries()) {
      await until(() => gates.length === n + 1, { what: `run ${n + 1}` });
      gates[n]?.(outcome);
    }
    const statuses = (await Promise.all(all)).map(({ status, cached }) => [status, cached]);
    expect(statuses.filter(([status]) => status === 'error')).toHaveLength(2);
    expect(statuses.filter(([, cached]) => cached)).toHaveLength(2);
    expect(runs).toHaveLength(3);
    expect(answers).toEqual(['shared', 'shared']);
  });

  it('wakes one at a time of many who wait while all are refused', async () => {
    const { cache } = setUp();
    const tool = toolWith();
    let refused = 0;
    const refuse = async (): Promise<ToolOutcome> => {
      refused += 1;
      throw new Error('refused');
    };
    const all = Array.from({ length: 5_000 }, () => cache.answer(callOf(tool), refuse));
    const ends = await Promise.allSettled(all);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    expect(refused).toBe(5_000);
  });

  it('lets one who waits give up without harm to the others', async () => {
    const { cache, runs, gates, slow } = setUp();
    const tool = toolWith({ fallback: { note: 'go on' } });
    const leaving = new Cancellation();
    const first = cache.answer(callOf(tool), slow);
    const left = cache.answer(callOf(tool, { cancellation: leaving }), slow);
    const late = cache.answer(callOf(tool, { timeoutMs: 5 }), slow);
    const patient = cache.answer(callOf(tool), slow);
    leaving.cancel();
    expect(await left).toMatchObject({ status: 'error', error: { type: 'cancelled' } });
    expect(await late).toMatchObject({
      executionId: runs[0]?.ticket.executionId,
      status: 'timeout',
      error: { type: 'timeout', message: 'No answer within 5 ms' },
      result: { note: 'go on' },
    });
    gates[0]?.(success);
    expect((await first).cached).toBe(false);
    expect((await patient).cached).toBe(true);
  });

  it('runs the next one when the one that runs is left by its caller', async () => {
    const { cache, runs, gates, slow, fast } = setUp();
    const tool = toolWith();
    const first = cache.answer(callOf(tool), slow);
    const second = cache.answer(callOf(tool), fast);
    gates[0]?.(failure);
    expect((await first).status).toBe('error');
    expect((await second).status).toBe('success');
    expect(runs).toHaveLength(2);
  });

  it('goes on waiting for the one that runs when another that waits gives up', async () => {
    const { cache, runs, gates, slow } = setUp();
    const tool = toolWith();
    const leaving = new Cancellation();
    const first = cache.answer(callOf(tool), slow);
    const left = cache.answer(callOf(tool, { cancellation: leaving }), slow);
    leaving.cancel();
    await left;
    const last = cache.answer(callOf(tool), slow);
    gates[0]?.(success);
    await first;
    expect((await last).cached).toBe(true);
    expect(runs).toHaveLength(1);
  });
});
