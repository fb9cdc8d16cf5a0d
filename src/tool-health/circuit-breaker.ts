import type { Clock } from '../common/clock.js';
import type { Release } from '../tool-contract/tool.js';
import { SampleRing } from './sample-ring.js';

/** When a circuit opens and how it comes back; durations in milliseconds. */
export interface CircuitSettings {
  /** Tool faults in the window that open the circuit … */
  readonly failures: number;
  /** … if they are at least this part (0 to 1) of the window's calls. */
  readonly minFailureRate: number;
  readonly windowMs: number;
  readonly openMs: number;
  readonly maxOpenMs: number;
  /** Calls that may try the tool in half-open; as many successes close the circuit. */
  readonly probes: number;
}

/** All times are milliseconds since 1970. `openings` counts the openings in a row. */
export type CircuitState =
  | {
      readonly kind: 'closed';
      readonly since: number;
      readonly reason: string | null;
      readonly openings: number;
    }
  | {
      readonly kind: 'open';
      readonly since: number;
      readonly reason: string;
      /** When probing begins; null: opened by hand, until closed by hand. */
      readonly until: number | null;
      readonly openings: number;
    }
  | {
      readonly kind: 'half_open';
      readonly since: number;
      readonly reason: string;
      readonly openings: number;
      /** Executions that are trying the tool now. */
      readonly permits: Set<string>;
      successes: number;
    };

export interface CircuitTransition {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly from: CircuitState['kind'];
  readonly to: CircuitState['kind'];
  readonly reason: string;
}

/** What the circuit says to a call. */
export type Admission =
  | { readonly kind: 'pass' }
  /** The call tries the tool; `release` gives its place back when no result comes of it. */
  | { readonly kind: 'probe'; readonly release: Release }
  | { readonly kind: 'refuse'; readonly reason: string; readonly retryAfterMs: number };

/** How a call ended, as far as the circuit cares. */
export interface CircuitSample {
  readonly executionId: string;
  readonly fault: boolean;
}

const pass: Admission = { kind: 'pass' };
/** When all probe places are taken, one is likely to be free or the circuit closed after this time. */
const probeRetryMs = 1_000;

/**
 * The circuit of one tool: closed → open → half-open → closed. It opens on many tool faults, refuses every call for
 * a while, then lets a few through to try the tool. Time moves it lazily: there is no timer.
 */
export class CircuitBreaker {
  private readonly window: SampleRing;
  private state: CircuitState;

  constructor(
    private readonly settings: CircuitSettings,
    private readonly clock: Clock,
    /** 0 to 1, for the jitter. */
    private readonly random: () => number,
    private readonly onTransition: (transition: CircuitTransition) => void = () => undefined,
  ) {
    this.window = new SampleRing(settings.windowMs);
    this.state = { kind: 'closed', since: clock.now(), reason: null, openings: 0 };
  }

  /** Asked once for each call before it runs. */
  admit(executionId: string): Admission {
    const state = this.current();
    switch (state.kind) {
      case 'closed':
        return pass;
      case 'open': {
        const retryAfterMs = state.until === null ? this.settings.maxOpenMs : state.until - this.clock.now();
        return { kind: 'refuse', reason: state.reason, retryAfterMs };
      }
      case 'half_open': {
        const { permits, successes, reason } = state;
        const free = permits.size + successes < this.settings.probes;
        if (!free) return { kind: 'refuse', reason, retryAfterMs: probeRetryMs };
        permits.add(executionId);
        // Bound to this half-open phase: a release that comes late touches no later one.
        return { kind: 'probe', release: () => permits.delete(executionId) };
      }
    }
  }

  /** Takes a call's result. Only the result of a call that holds a permit counts as a probe's. */
  record({ executionId, fault }: CircuitSample): void {
    const now = this.clock.now();
    const state = this.current();
    this.window.add(now, fault);
    switch (state.kind) {
      case 'closed':
        if (fault && this.isFailing(now)) this.open(now, this.faultsReason(now));
        return;
      case 'open':
        // A call that was admitted before the opening: its result changes nothing.
        return;
      case 'half_open':
        if (state.permits.delete(executionId)) this.takeProbe(state, fault, now);
    }
  }

  /**
   * Fills the window with what happened before a restart, in any order, and opens the circuit if it would be open
   * now: the window is failing, and too few calls have succeeded since its last fault to have closed it again.
   */
  restore(samples: readonly { readonly at: number; readonly fault: boolean }[]): void {
    const now = this.clock.now();
    const sorted = [...samples].sort((a, b) => a.at - b.at);
    for (const { at, fault } of sorted) this.window.add(at, fault);
    const lastFault = sorted.findLastIndex(({ fault }) => fault);
    const successesSince = sorted.length - 1 - lastFault;
    const openedAt = sorted[lastFault]?.at;
    const stays = openedAt === undefined || successesSince >= this.settings.probes || !this.isFailing(now);
    if (stays || this.state.kind !== 'closed') return;
    this.open(openedAt, `${this.faultsReason(now)} (before the restart)`);
  }

  /** Refuses every call until the circuit is closed or reset by hand. */
  openByHand(reason: string): void {
    const now = this.clock.now();
    const { openings } = this.current();
    this.enter({ kind: 'open', since: now, reason, until: null, openings }, now);
  }

  /** Lets calls pass and forgets the window's faults; an opening soon after still counts as a repeated one. */
  closeByHand(reason: string): void {
    const { openings } = this.current();
    this.close(this.clock.now(), reason, openings);
  }

  /** As new: closed, without faults or openings. */
  reset(reason: string): void {
    this.current();
    this.close(this.clock.now(), reason, 0);
  }

  /** The state as of now: an opening that is over has become half-open. */
  current(): CircuitState {
    const { state } = this;
    if (state.kind !== 'open' || state.until === null || this.clock.now() < state.until) return state;
    const { until, reason, openings } = state;
    return this.enter(
      { kind: 'half_open', since: until, reason, openings, permits: new Set(), successes: 0 },
      until,
    );
  }

  /** What the window holds now. */
  counts(): { readonly calls: number; readonly faults: number } {
    return this.window.totals(this.clock.now());
  }

  private takeProbe(state: CircuitState & { kind: 'half_open' }, fault: boolean, now: number): void {
    if (fault) {
      this.open(now, 'A probe failed');
      return;
    }
    state.successes++;
    const { probes } = this.settings;
    if (state.successes >= probes) this.close(now, `${probes} probes succeeded`, state.openings);
  }

  private isFailing(now: number): boolean {
    const { calls, faults } = this.window.totals(now);
    return faults >= this.settings.failures && faults >= calls * this.settings.minFailureRate;
  }

  private faultsReason(now: number): string {
    const { calls, faults } = this.window.totals(now);
    return `${faults} of ${calls} calls in the last ${this.settings.windowMs / 1000} s were tool faults`;
  }

  private open(at: number, reason: string): void {
    const { state } = this;
    // A circuit that stayed closed for a whole window starts again with the shortest opening.
    const recovered = state.kind === 'closed' && at - state.since >= this.settings.windowMs;
    const openings = (recovered ? 0 : state.openings) + 1;
    this.enter({ kind: 'open', since: at, reason, until: at + this.openFor(openings), openings }, at);
  }

  /** Doubles with each opening in a row; repeated ones are up to a fifth shorter, so that circuits do not probe in step. */
  private openFor(openings: number): number {
    const { openMs, maxOpenMs } = this.settings;
    const ms = Math.min(maxOpenMs, openMs * 2 ** (openings - 1));
    return openings === 1 ? ms : Math.round(ms * (1 - this.random() / 5));
  }

  private close(at: number, reason: string, openings: number): void {
    this.window.clear();
    this.enter({ kind: 'closed', since: at, reason, openings }, at);
  }

  private enter<S extends CircuitState & { reason: string }>(state: S, at: number): S {
    const from = this.state.kind;
    this.state = state;
    this.onTransition({ at, from, to: state.kind, reason: state.reason });
    return state;
  }
}
