import fc from 'fast-check';
import { CircuitBreaker } from './circuit-breaker.js';
import type { CircuitSettings, CircuitState } from './circuit-state.js';

type Ended = 'success' | 'fault' | 'nothing';

type Step =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'begin' }
  | { readonly do: 'end'; readonly which: number; readonly ended: Ended }
  /** Whole calls, the successes first; those that are refused end with nothing. */
  | { readonly do: 'burst'; readonly successes: number; readonly faults: number }
  | { readonly do: 'openByHand' | 'closeByHand' | 'reset' };

/** The circuit as the design words it, with lists where the real one has counters. It shares no code with it. */
class Model {
  now = 1_000_000;
  kind: CircuitState['kind'] = 'closed';
  closedAt = this.now;
  until = Infinity;
  openings = 0;
  samples: { at: number; fault: boolean }[] = [];
  successes = 0;
  probing: string[] = [];

  constructor(
    private readonly settings: CircuitSettings,
    private readonly random: number,
  ) {}

  wait(ms: number): void {
    this.now += ms;
    if (this.kind !== 'open' || this.now < this.until) return;
    this.kind = 'half_open';
    this.successes = 0;
    this.probing = [];
  }

  admit(id: string): 'pass' | 'probe' | 'refuse' {
    if (this.kind === 'closed') return 'pass';
    const taken = this.probing.length + this.successes;
    if (this.kind === 'open' || taken >= this.settings.probes) return 'refuse';
    this.probing.push(id);
    return 'probe';
  }

  end(id: string, ended: Ended): void {
    const isProbe = this.probing.includes(id);
    this.probing = this.probing.filter((one) => one !== id);
    if (ended === 'nothing') return;
    this.samples.push({ at: this.now, fault: ended === 'fault' });
    if (this.kind === 'closed') {
      const quiet = this.now - this.closedAt >= this.settings.windowMs;
      if (ended === 'fault' && this.isFailing()) this.open(quiet ? 1 : this.openings + 1);
    } else if (isProbe && ended === 'fault') this.open(this.openings + 1);
    else if (isProbe && ++this.successes === this.settings.probes) this.close(this.openings);
  }

  openByHand(): void {
    this.kind = 'open';
    this.until = Infinity;
    this.probing = [];
  }

  close(openings: number): void {
    this.kind = 'closed';
    this.closedAt = this.now;
    this.openings = openings;
    this.samples = [];
    this.probing = [];
  }

  /** A sample belongs to the window while its sixtieth of it is among the last sixty. */
  counts(): { calls: number; faults: number } {
    const slice = this.settings.windowMs / 60;
    // No time comes back: what has left the window need not be looked at again.
    const kept = (this.samples = this.samples.filter(
      ({ at }) => Math.floor(this.now / slice) - Math.floor(at / slice) < 60,
    ));
    return { calls: kept.length, faults: kept.filter(({ fault }) => fault).length };
  }

  private open(openings: number): void {
    const { openMs, maxOpenMs } = this.settings;
    let ms = openMs;
    for (let n = 1; n < openings; n++) ms = Math.min(maxOpenMs, ms * 2);
    if (openings > 1) ms = Math.round(ms * (1 - this.random / 5));
    this.openings = openings;
    this.kind = 'open';
    this.probing = [];
    this.until = this.now + ms;
  }

  private isFailing(): boolean {
    const { calls, faults } = this.counts();
    const { failures, minFailureRate, minCalls = 0 } = this.settings;
    return calls >= minCalls && faults >= failures && faults / calls >= minFailureRate;
  }
}

/** Both of them through the same steps. */
class Pair {
  private readonly model: Model;
  private readonly breaker: CircuitBreaker;
  private readonly running: { id: string; release: () => void }[] = [];
  private calls = 0;
  opened = 0;

  constructor(settings: CircuitSettings, random: number) {
    const model = new Model(settings, random);
    this.model = model;
    this.breaker = new CircuitBreaker(
      settings,
      { now: () => model.now },
      () => random,
      ({ to }) => (this.opened += to === 'open' ? 1 : 0),
    );
  }

  take(step: Step): void {
    switch (step.do) {
      case 'wait':
        this.model.wait(step.ms);
        break;
      case 'begin':
        this.begin();
        break;
      case 'end':
        this.end(step.which, step.ended);
        break;
      case 'burst':
        for (let n = 0; n < step.successes; n++) this.whole('success');
        for (let n = 0; n < step.faults; n++) this.whole('fault');
        break;
      default:
        this.override(step.do);
    }
    this.compare();
  }

  /** Without `expect`, which alone would take a minute for a million comparisons. */
  private compare(): void {
    const [{ kind }, counts] = [this.breaker.current(), this.breaker.counts()];
    const expected = this.model.counts();
    const same = kind === this.model.kind && counts.calls === expected.calls;
    if (same && counts.faults === expected.faults) return;
    const real = { kind, ...counts };
    throw new Error(
      `${JSON.stringify(real)} instead of ${JSON.stringify({ kind: this.model.kind, ...expected })}`,
    );
  }

  private begin(): boolean {
    const id = `call-${this.calls++}`;
    const admission = this.breaker.admit(id);
    const expected = this.model.admit(id);
    if (admission.kind !== expected) throw new Error(`${admission.kind} instead of ${expected}`);
    if (admission.kind === 'refuse') return false;
    this.running.push({ id, release: admission.kind === 'probe' ? admission.release : () => undefined });
    return true;
  }

  private end(which: number, ended: Ended): void {
    const [call] = this.running.splice(which % Math.max(1, this.running.length), 1);
    if (!call) return;
    if (ended !== 'nothing') this.breaker.record({ executionId: call.id, fault: ended === 'fault' });
    call.release();
    this.model.end(call.id, ended);
  }

  private whole(ended: Ended): void {
    if (this.begin()) this.end(this.running.length - 1, ended);
  }

  private override(what: 'openByHand' | 'closeByHand' | 'reset'): void {
    const openings = what === 'reset' ? 0 : this.breaker.current().openings;
    const to = what === 'openByHand' ? 'open' : 'closed';
    this.breaker.adopt({ to, at: this.model.now, by: 'alice', reason: 'hand', openings });
    if (what === 'openByHand') this.model.openByHand();
    else this.model.close(what === 'reset' ? 0 : this.model.openings);
  }
}

const anySettings: fc.Arbitrary<CircuitSettings> = fc
  .record({
    failures: fc.integer({ min: 1, max: 8 }),
    minFailureRate: fc.constantFrom(0, 0.07, 0.25, 0.49, 0.5, 0.51, 0.75, 1),
    minCalls: fc.constantFrom(undefined, 1, 5, 9),
    windowMs: fc.constantFrom(60, 100, 600, 300_000),
    openMs: fc.constantFrom(20, 30_000),
    maxOpenMs: fc.constantFrom(100, 300_000),
    probes: fc.integer({ min: 1, max: 3 }),
  })
  .filter(({ openMs, maxOpenMs }) => openMs <= maxOpenMs);

/** The edges of a window, of its sixtieth and of an opening among others. */
const waits = ({ windowMs, openMs, maxOpenMs }: CircuitSettings): fc.Arbitrary<Step> => {
  const edges = [windowMs, windowMs / 60, openMs, openMs * 2, maxOpenMs].map(Math.round);
  const near = edges.flatMap((ms) => [ms - 1, ms, ms + 1]);
  return fc
    .oneof(fc.constantFrom(...near), fc.integer({ min: 1, max: windowMs * 2 }))
    .map((ms) => ({ do: 'wait', ms: Math.max(0, ms) }));
};

const halves = [
  [51, 49],
  [50, 50],
  [49, 51],
] as const;
const bursts: fc.Arbitrary<Step> = fc
  .oneof(fc.constantFrom(...halves), fc.tuple(fc.nat(12), fc.nat(9)))
  .map(([successes, faults]) => ({ do: 'burst', successes, faults }));
const begins: fc.Arbitrary<Step> = fc.constant({ do: 'begin' });
const ends: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('end'),
  which: fc.nat(5),
  ended: fc.constantFrom('success', 'fault', 'fault', 'nothing'),
});
const byHand: fc.Arbitrary<Step> = fc.record({ do: fc.constantFrom('openByHand', 'closeByHand', 'reset') });

const traces = anySettings.chain((settings) =>
  fc.record({
    settings: fc.constant(settings),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
    steps: fc.array(
      fc.oneof(
        { arbitrary: begins, weight: 6 },
        { arbitrary: ends, weight: 6 },
        { arbitrary: waits(settings), weight: 4 },
        { arbitrary: bursts, weight: 1 },
        { arbitrary: byHand, weight: 1 },
      ),
      { minLength: 10, maxLength: 30, size: 'max' },
    ),
  }),
);

it('does what the naive model does in 2,000 random traces, at 49, 50 and 51 % and at the edges of windows', () => {
  let opened = 0;
  fc.assert(
    fc.property(traces, ({ settings, random, steps }) => {
      const pair = new Pair(settings, random);
      for (const step of steps) pair.take(step);
      opened += pair.opened;
    }),
    { numRuns: 2_000 },
  );
  // Traces in which nothing happens would prove nothing.
  expect(opened).toBeGreaterThan(1_000);
});
