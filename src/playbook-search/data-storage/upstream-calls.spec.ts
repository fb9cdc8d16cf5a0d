import fc from 'fast-check';
import { CircuitBreaker } from '../../common/circuit-breaker.js';
import type { CircuitSettings } from '../../common/circuit-state.js';
import { type TryReport, UpstreamCalls } from './upstream-calls.js';
import { type FailureKind, UpstreamFailure } from './upstream-failure.js';

const circuitSettings: CircuitSettings = {
  failures: 1,
  minCalls: 5,
  minFailureRate: 0.5,
  windowMs: 300_000,
  openMs: 30_000,
  maxOpenMs: 300_000,
  probes: 1,
};
const never = new AbortController().signal;

interface SetUp {
  readonly retries?: number;
  readonly pauseMs?: number;
  readonly deadlineMs?: number;
  readonly random?: () => number;
  readonly circuit?: Partial<CircuitSettings>;
}

/** A service that ends each try as it is told; what it is not told, it answers. */
function setUp({ circuit, random, ...settings }: SetUp = {}) {
  const clock = { time: 1_000_000, now: () => clock.time };
  const breaker = new CircuitBreaker({ ...circuitSettings, ...circuit }, clock, () => 0);
  const script: ('ok' | FailureKind | UpstreamFailure | Error)[] = [];
  const limits: number[] = [];
  const reports: TryReport[] = [];
  const exchange = {
    send: async (_request: unknown, limitMs: number) => {
      limits.push(limitMs);
      const next = script.shift() ?? 'ok';
      if (next === 'ok') return 'answer';
      throw typeof next === 'string' ? new UpstreamFailure(next, next) : next;
    },
  };
  const calls = new UpstreamCalls(
    { retries: 3, pauseMs: 0, deadlineMs: 5_000, ...settings },
    exchange,
    breaker,
    (report) => reports.push(report),
    random,
  );
  const ask = (signal = never) =>
    calls
      .ask({ method: 'GET', path: '/', read: (answer) => answer }, signal)
      .catch((error: unknown) => error);
  return { clock, breaker, script, limits, reports, ask };
}

describe('a question', () => {
  it('is asked once when it is answered', async () => {
    const { ask, reports, limits } = setUp({ deadlineMs: 120_000 });
    expect(await ask()).toBe('answer');
    expect(reports).toEqual([{ attempt: 1, durationMs: expect.any(Number) }]);
    expect(limits[0]).toBeGreaterThan(60_000);
    expect(limits[0]).toBeLessThanOrEqual(120_000);
  });

  it.each<FailureKind>(['timeout', 'unreachable', 'server_error', 'rate_limited'])(
    'is asked again after %s, three times at most',
    async (kind) => {
      const { ask, script, reports } = setUp({ circuit: { minCalls: 100 } });
      script.push(kind, kind, kind);
      expect(await ask()).toBe('answer');
      script.push(kind, kind, kind, kind, kind);
      expect(await ask()).toMatchObject({ kind, tries: 4 });
      expect(reports.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    },
  );

  it.each<FailureKind>(['rejected', 'redirected', 'invalid_answer', 'answer_too_large'])(
    'is not asked again after %s',
    async (kind) => {
      const { ask, script } = setUp();
      script.push(kind);
      expect(await ask()).toMatchObject({ kind, tries: 1 });
    },
  );

  it('waits longer and longer, each time by chance', async () => {
    const random = jest.fn(() => 0.5);
    const { ask, script } = setUp({ pauseMs: 40, random, circuit: { minCalls: 100 } });
    script.push('timeout', 'timeout', 'timeout');
    const begun = performance.now();
    expect(await ask()).toBe('answer');
    // 20 + 40 + 80.
    expect(performance.now() - begun).toBeGreaterThanOrEqual(135);
    expect(random).toHaveBeenCalledTimes(3);
  });

  it('waits as long as the service asks', async () => {
    const { ask, script } = setUp({ random: () => 0 });
    script.push(new UpstreamFailure('rate_limited', 'it answered 429', 60));
    const begun = performance.now();
    expect(await ask()).toBe('answer');
    expect(performance.now() - begun).toBeGreaterThanOrEqual(58);
  });

  it('is given up at once when the service asks for more time than there is', async () => {
    const { ask, script } = setUp({ deadlineMs: 60_000 });
    script.push(new UpstreamFailure('rate_limited', 'it answered 429', 61_000));
    const begun = performance.now();
    expect(await ask()).toMatchObject({ kind: 'rate_limited', tries: 1 });
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  it('is not asked again when nobody waits any more', async () => {
    const { ask, script, reports } = setUp({ pauseMs: 10_000, random: () => 1, deadlineMs: 60_000 });
    script.push('timeout');
    const caller = new AbortController();
    const left = ask(caller.signal);
    caller.abort(new Error('gone'));
    expect(await left).toMatchObject({ message: 'gone' });
    expect(reports).toHaveLength(1);
  });

  it('fails with what is no failure of the service as it is', async () => {
    const { ask, script, breaker } = setUp();
    script.push(new TypeError('our own bug'));
    expect(await ask()).toBeInstanceOf(TypeError);
    expect(breaker.counts()).toEqual({ calls: 0, faults: 0 });
  });
});

describe('the circuit', () => {
  it('opens when half of at least five tries have failed, and then nothing is asked', async () => {
    const { ask, script, limits, breaker } = setUp();
    script.push('timeout', 'timeout', 'timeout', 'timeout');
    expect(await ask()).toMatchObject({ kind: 'timeout', tries: 4 });
    expect(breaker.current().kind).toBe('closed');
    script.push('timeout');
    // The fifth try opens it: what follows is not tried, and the try's own reason is told.
    expect(await ask()).toMatchObject({ kind: 'timeout', tries: 1 });
    expect(breaker.current().kind).toBe('open');
    expect(await ask()).toMatchObject({ kind: 'circuit_open', tries: 0, retryAfterMs: 30_000 });
    expect(limits).toHaveLength(5);
  });

  it('lets one try through after a while, and closes when it is answered', async () => {
    const { ask, script, clock, breaker, limits } = setUp();
    for (let n = 0; n < 5; n++) script.push('server_error');
    await ask();
    await ask();
    clock.time += 30_000;
    script.push('server_error');
    expect(await ask()).toMatchObject({ kind: 'server_error', tries: 1 });
    expect(breaker.current().kind).toBe('open');
    clock.time += 60_000;
    expect(await ask()).toBe('answer');
    expect(breaker.current().kind).toBe('closed');
    expect(limits).toHaveLength(7);
  });

  it('gives the place of a trial back that ended without a word about the service', async () => {
    const { ask, script, clock, breaker } = setUp();
    for (let n = 0; n < 5; n++) script.push('server_error');
    await ask();
    await ask();
    clock.time += 30_000;
    script.push(new TypeError('our own bug'));
    await ask();
    expect(await ask()).toBe('answer');
    expect(breaker.current().kind).toBe('closed');
  });
});

/** The retries and the circuit as the design words them; it shares no code with them. */
class Model {
  state: 'closed' | 'open' | 'half_open' = 'closed';
  samples: boolean[] = [];
  tries = 0;

  ask(ends: ('ok' | FailureKind)[]): 'ok' | FailureKind {
    let last: FailureKind | undefined;
    for (let attempt = 0; attempt < 4; attempt++) {
      if (this.state === 'open') return last ?? 'circuit_open';
      this.tries += 1;
      const end = ends.shift() ?? 'ok';
      this.sample(!['ok', 'rejected'].includes(end));
      if (end === 'ok') return 'ok';
      last = end;
      if (!['timeout', 'unreachable', 'server_error', 'rate_limited'].includes(end)) return end;
    }
    return last ?? 'ok';
  }

  private sample(failed: boolean): void {
    if (this.state === 'half_open') {
      this.state = failed ? 'open' : 'closed';
      // What came before a recovery counts no more; a failed trial leaves the window as it is.
      this.samples = failed ? [...this.samples, true] : [];
      return;
    }
    this.samples.push(failed);
    const failures = this.samples.filter(Boolean).length;
    if (failed && this.samples.length >= 5 && failures / this.samples.length >= 0.5) this.state = 'open';
  }
}

it('asks as often as the naive model and opens when it does, in 300 random stories', async () => {
  const ends = fc.constantFrom<'ok' | FailureKind>(
    'ok',
    'ok',
    'timeout',
    'unreachable',
    'server_error',
    'rate_limited',
    'rejected',
    'invalid_answer',
  );
  const steps = fc.array(
    fc.oneof(
      { arbitrary: fc.array(ends, { maxLength: 5 }), weight: 4 },
      { arbitrary: fc.constant('wait' as const), weight: 1 },
    ),
    { minLength: 1, maxLength: 12 },
  );
  let opened = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (story) => {
      // No window ends during a story, and an opening is over with every wait.
      const { ask, script, clock, breaker, limits } = setUp({
        circuit: { windowMs: 1e12, openMs: 10, maxOpenMs: 10 },
      });
      const model = new Model();
      for (const step of story) {
        if (step === 'wait') {
          clock.time += 10;
          if (model.state === 'open') model.state = 'half_open';
        } else {
          const expected = model.ask([...step]);
          script.splice(0, script.length, ...step);
          const end = await ask();
          expect(end instanceof UpstreamFailure ? end.kind : 'ok').toBe(expected);
        }
        expect([breaker.current().kind, limits.length]).toEqual([model.state, model.tries]);
        opened += model.state === 'open' ? 1 : 0;
      }
    }),
    { numRuns: 300 },
  );
  expect(opened).toBeGreaterThan(30);
});
