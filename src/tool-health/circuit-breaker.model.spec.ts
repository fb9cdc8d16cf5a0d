import fc from 'fast-check';
import { CircuitBreaker, type CircuitSettings, type CircuitState } from './circuit-breaker.js';

/** One bucket is one millisecond. */
const settings: CircuitSettings = {
  failures: 3,
  minFailureRate: 0.5,
  windowMs: 60,
  openMs: 20,
  maxOpenMs: 100,
  probes: 2,
};

type Ended = 'success' | 'fault' | 'nothing';

/** The circuit as the design words it, with lists where the real one has counters. */
class Model {
  now = 1_000;
  kind: CircuitState['kind'] = 'closed';
  closedAt = this.now;
  until = Infinity;
  openings = 0;
  samples: { at: number; fault: boolean }[] = [];
  successes = 0;
  probing = new Set<string>();

  advance(ms: number): void {
    this.now += ms;
    if (this.kind !== 'open' || this.now < this.until) return;
    this.kind = 'half_open';
    this.successes = 0;
    this.probing = new Set();
  }

  admit(id: string): 'pass' | 'probe' | 'refuse' {
    if (this.kind === 'closed') return 'pass';
    if (this.kind === 'open' || this.probing.size + this.successes >= settings.probes) return 'refuse';
    this.probing.add(id);
    return 'probe';
  }

  end(id: string, ended: Ended): void {
    const isProbe = this.probing.delete(id);
    if (ended === 'nothing') return;
    const fault = ended === 'fault';
    this.samples.push({ at: this.now, fault });
    if (this.kind === 'closed' && fault && this.isFailing())
      this.open(this.now - this.closedAt >= settings.windowMs);
    else if (isProbe && fault) this.open(false);
    else if (isProbe && ++this.successes === settings.probes) this.close(this.openings);
  }

  open(recovered: boolean): void {
    this.openings = recovered ? 1 : this.openings + 1;
    this.kind = 'open';
    this.probing = new Set();
    this.until = this.now + Math.min(settings.maxOpenMs, settings.openMs * 2 ** (this.openings - 1));
  }

  openByHand(): void {
    this.kind = 'open';
    this.until = Infinity;
    this.probing = new Set();
  }

  close(openings: number): void {
    this.kind = 'closed';
    this.closedAt = this.now;
    this.openings = openings;
    this.samples = [];
    this.probing = new Set();
  }

  counts(): { calls: number; faults: number } {
    const kept = this.samples.filter(({ at }) => at > this.now - settings.windowMs);
    return { calls: kept.length, faults: kept.filter(({ fault }) => fault).length };
  }

  private isFailing(): boolean {
    const { calls, faults } = this.counts();
    return faults >= settings.failures && faults / calls >= settings.minFailureRate;
  }
}

interface Real {
  readonly breaker: CircuitBreaker;
  readonly clock: { time: number };
  /** Calls that run now, oldest first. */
  readonly running: { id: string; release: () => void }[];
  calls: number;
}

type Step = fc.Command<Model, Real>;

function step(name: string, run: (model: Model, real: Real) => void): Step {
  return {
    check: () => true,
    toString: () => name,
    run: (model, real) => {
      run(model, real);
      const { kind } = real.breaker.current();
      expect(kind).toBe(model.kind);
      expect(real.breaker.counts()).toEqual(model.counts());
    },
  };
}

const advance = (ms: number): Step =>
  step(`advance(${ms})`, (model, { clock }) => {
    model.advance(ms);
    clock.time = model.now;
  });

const begin = step('begin', (model, real) => {
  const id = `call-${real.calls++}`;
  const admission = real.breaker.admit(id);
  expect(admission.kind).toBe(model.admit(id));
  if (admission.kind === 'refuse') expect(admission.retryAfterMs).toBeGreaterThan(0);
  else real.running.push({ id, release: admission.kind === 'probe' ? admission.release : () => undefined });
});

const end = (which: number, ended: Ended): Step =>
  step(`end(${which}, ${ended})`, (model, { breaker, running }) => {
    const [call] = running.splice(which % Math.max(1, running.length), 1);
    if (!call) return;
    if (ended !== 'nothing') breaker.record({ executionId: call.id, fault: ended === 'fault' });
    call.release();
    model.end(call.id, ended);
  });

const openByHand = step('openByHand', (model, { breaker }) => {
  breaker.openByHand('hand');
  model.openByHand();
});
const closeByHand = step('closeByHand', (model, { breaker }) => {
  breaker.closeByHand('hand');
  model.close(model.openings);
});
const reset = step('reset', (model, { breaker }) => {
  breaker.reset('hand');
  model.close(0);
});

const anyEnd = fc
  .tuple(fc.nat(5), fc.constantFrom<Ended>('success', 'fault', 'fault', 'nothing'))
  .map(([which, ended]) => end(which, ended));
/** Borders of the settings among others: an opening, its double, the window. */
const anyWait = fc.oneof(fc.constantFrom(1, 20, 40, 60), fc.integer({ min: 1, max: 130 })).map(advance);
const byHand = fc.constantFrom(openByHand, closeByHand, reset);

it('does what the model does, whatever happens in whatever order', () => {
  const anyStep = [
    fc.constant(begin),
    fc.constant(begin),
    anyEnd,
    anyEnd,
    fc.constant(begin),
    anyEnd,
    anyWait,
  ];
  const steps = fc.oneof(
    fc.commands(anyStep, { maxCommands: 300, size: 'max' }),
    fc.commands([...anyStep, byHand], { maxCommands: 300, size: 'max' }),
  );
  fc.assert(
    fc.property(steps, (commands) => {
      fc.modelRun(() => {
        const model = new Model();
        const clock = { time: model.now };
        const breaker = new CircuitBreaker(settings, { now: () => clock.time }, () => 0);
        return { model, real: { breaker, clock, running: [], calls: 0 } };
      }, commands);
    }),
    { numRuns: 150 },
  );
});
