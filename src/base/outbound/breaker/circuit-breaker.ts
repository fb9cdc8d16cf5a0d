import type { Clock } from '../../common/clock.js';
import type {
  CircuitChange,
  CircuitDecision,
  CircuitPast,
  CircuitSettings,
  CircuitState,
} from './circuit-state.js';
import { SampleRing, type WindowCounts } from './sample-ring.js';

const pass: CircuitDecision = { kind: 'pass' };
/** Retry pause while all probe slots are taken. After it, one is likely to be free, or the circuit to be closed. */
const probeRetryMs = 1_000;

/**
 * The circuit of one tool or service: closed → open → half-open → closed. It opens on many faults, refuses all calls for a
 * while, and then admits a few as probes. There is no timer: each read of the state considers the time.
 */
export class CircuitBreaker {
  private window: SampleRing;
  private state: CircuitState;
  /** Time of the first opening since the circuit was last closed, milliseconds since the epoch; null while it is closed. */
  private firstOpening: number | null = null;

  constructor(
    private settings: CircuitSettings,
    private readonly clock: Clock,
    /** Random number of 0 to 1, for jitter. */
    private readonly random: () => number,
    private readonly onChange: (change: CircuitChange) => void = () => undefined,
    /** Whether this replica may probe once the opening is over. */
    private readonly mayProbe: () => boolean = () => true,
  ) {
    this.window = new SampleRing(settings.windowMs);
    this.state = { kind: 'closed', since: clock.now(), reason: null, by: null, openings: 0 };
  }

  /** Decides whether a call may run. Called once per call. */
  admit(executionId: string): CircuitDecision {
    const state = this.current();
    switch (state.kind) {
      case 'closed':
        return pass;
      case 'open':
        return this.refuse(state);
      case 'half_open': {
        const { slots, successes, reason } = state;
        const hasFreeSlot = slots.size + successes < this.settings.probes;
        if (!hasFreeSlot) return { kind: 'refuse', reason, retryAfterMs: probeRetryMs };
        slots.add(executionId);
        // A late release cannot affect a later half-open phase, which has slots of its own.
        return { kind: 'probe', release: () => slots.delete(executionId) };
      }
    }
  }

  /** Records a call's result. It counts as a probe's only if the call holds a slot. */
  record({ executionId, fault }: { readonly executionId: string; readonly fault: boolean }): void {
    const now = this.clock.now();
    const state = this.current();
    this.window.add(now, fault);
    switch (state.kind) {
      case 'closed':
        if (fault && this.isFailing(now)) this.open(now, this.faultsReason(now));
        return;
      case 'open':
        // The call was admitted before the opening, so its result changes nothing.
        return;
      case 'half_open':
        if (state.slots.delete(executionId)) this.recordProbe(state, fault, now);
    }
  }

  /**
   * Restores the state from before a restart. A circuit that was not closed is open again until its time to probe. Any other
   * circuit opens if a fault in the window would have opened it, and too few calls have succeeded since the last fault.
   * @param samples samples of two windows, because the effect of a fault depends on the window before it
   */
  restore({ samples, last, closedAt = -Infinity, openSince, held }: CircuitPast): void {
    const now = this.clock.now();
    const sorted = samples.filter(({ at }) => at > closedAt).sort((a, b) => a.at - b.at);
    for (const { at, fault } of sorted) this.window.add(at, fault);
    // A change that arrived meanwhile is newer.
    if (this.state.kind !== 'closed' || this.state.reason !== null) return;
    const { to = 'closed', openings = 0 } = last ?? {};
    const lastOpening = held ?? (to === 'closed' ? undefined : last);
    if (lastOpening) {
      const { at, reason } = lastOpening;
      const by = held?.by ?? null;
      // A circuit that was half-open probes at once.
      const probeAt = to === 'open' ? at + this.openMsOf(openings) : at;
      this.firstOpening = openSince ?? at;
      // The change itself was emitted before the restart.
      this.set({ kind: 'open', since: at, reason, by, until: held ? null : probeAt, openings });
      return;
    }
    const { since } = this.state;
    this.state = { ...this.state, since: Number.isFinite(closedAt) ? closedAt : since, openings };
    const opening = this.openingIn(sorted, now);
    if (opening)
      this.enter(this.newOpening(opening.at, `${opening.reason} (before the restart)`), opening.at);
  }

  /** Changes the settings. The state stays, and the window keeps the samples that fit. */
  adjust(settings: CircuitSettings): void {
    if (settings.windowMs !== this.settings.windowMs) this.window = this.window.resized(settings.windowMs);
    this.settings = settings;
  }

  /** Opens because of faults at all replicas. */
  openFor(reason: string): void {
    this.open(this.clock.now(), reason);
  }

  /**
   * Applies a change that was made by hand or by another replica, without emitting it. A circuit that was opened by hand stays
   * open until it is closed by hand.
   * @param probingMs how long it stays open while another replica probes
   */
  adopt({ to, at, reason, by, openings }: Omit<CircuitChange, 'from'>, probingMs = 0): void {
    if (to === 'closed') {
      this.window.clear();
      this.set({ kind: 'closed', since: at, reason, by, openings });
      return;
    }
    const probeAt = to === 'half_open' ? this.clock.now() + probingMs : at + this.openMsOf(openings);
    this.set({ kind: 'open', since: at, reason, by, until: by === null ? probeAt : null, openings });
  }

  /** The state as of now. An opening that is over becomes half-open first. */
  current(): CircuitState {
    const { state } = this;
    if (state.kind !== 'open' || state.until === null || !this.isDue() || !this.mayProbe()) return state;
    const { until, reason, openings } = state;
    return this.enter(
      { kind: 'half_open', since: until, reason, by: null, openings, slots: new Set(), successes: 0 },
      until,
    );
  }

  /** Whether the circuit is open and may be probed now. */
  isDue(): boolean {
    const { state } = this;
    return state.kind === 'open' && state.until !== null && this.clock.now() >= state.until;
  }

  /** Calls and faults in the window. */
  counts(): WindowCounts {
    return { ...this.window.totals(this.clock.now()) };
  }

  /** Whether these counts of a window open the circuit. */
  opensAt({ calls, faults }: WindowCounts): boolean {
    const { failures, minFailureRate, minCalls = 0 } = this.settings;
    // Division, because multiplication is inexact: 100 · 0.07 is more than 7.
    return calls >= minCalls && faults >= failures && faults / calls >= minFailureRate;
  }

  /** Time since which calls are refused, in milliseconds since the epoch; null while closed. Failed probes do not reset it. */
  openSince(): number | null {
    return this.firstOpening;
  }

  /** Whether it was opened by hand and not closed by hand since then. */
  isHeld(): boolean {
    return this.state.kind === 'open' && this.state.until === null;
  }

  /** The rules by which it opens and closes. */
  rules(): CircuitSettings {
    return this.settings;
  }

  private refuse({ until, reason, by }: CircuitState & { kind: 'open' }): CircuitDecision {
    if (until !== null)
      return { kind: 'refuse', reason, retryAfterMs: this.isDue() ? probeRetryMs : until - this.clock.now() };
    const held = `${reason} (opened by ${by ?? 'hand'}; it stays so until it is closed or reset by hand)`;
    return { kind: 'refuse', reason: held, retryAfterMs: this.settings.maxOpenMs };
  }

  /** Records the result of a probe: a fault opens the circuit, enough successes close it. */
  private recordProbe(state: CircuitState & { kind: 'half_open' }, fault: boolean, now: number): void {
    if (fault) {
      this.open(now, 'A probe failed');
      return;
    }
    state.successes++;
    const { probes } = this.settings;
    if (state.successes < probes) return;
    this.window.clear();
    const reason = `${probes} probes succeeded`;
    this.enter({ kind: 'closed', since: now, reason, by: null, openings: state.openings }, now);
  }

  /** The last of these faults that would have opened the circuit; undefined if it would be closed again. */
  private openingIn(
    sorted: CircuitPast['samples'],
    now: number,
  ): { readonly at: number; readonly reason: string } | undefined {
    const lastFault = sorted.findLastIndex(({ fault }) => fault);
    if (sorted.length - 1 - lastFault >= this.settings.probes) return undefined;
    const { windowMs } = this.settings;
    const window = new SampleRing(windowMs);
    let opening: { at: number; reason: string } | undefined;
    for (const { at, fault } of sorted) {
      window.add(at, fault);
      if (!fault || at <= now - windowMs || !this.isFailing(at, window)) continue;
      opening = { at, reason: this.faultsReason(at, window) };
    }
    return opening;
  }

  private isFailing(now: number, window = this.window): boolean {
    return this.opensAt(window.totals(now));
  }

  private faultsReason(now: number, window = this.window): string {
    const { calls, faults } = window.totals(now);
    const { windowMs, faultsAre = 'tool faults' } = this.settings;
    return `${faults} of ${calls} calls in the last ${windowMs / 1000} s were ${faultsAre}`;
  }

  private open(at: number, reason: string): void {
    this.enter(this.newOpening(at, reason), at);
  }

  private newOpening(at: number, reason: string): CircuitState & { kind: 'open' } {
    const { state } = this;
    // A circuit that stayed closed for a whole window starts again with the shortest opening.
    const hasRecovered = state.kind === 'closed' && at - state.since >= this.settings.windowMs;
    const openings = (hasRecovered ? 0 : state.openings) + 1;
    return { kind: 'open', since: at, reason, by: null, until: at + this.openMsOf(openings), openings };
  }

  /**
   * Duration of an opening. It doubles with each opening in a row. Repeated ones are shortened by up to a fifth at random, so
   * that circuits do not probe at the same time.
   */
  private openMsOf(openings: number): number {
    const { openMs, maxOpenMs } = this.settings;
    const ms = Math.min(maxOpenMs, openMs * 2 ** (openings - 1));
    return openings === 1 ? ms : Math.round(ms * (1 - this.random() / 5));
  }

  /** Changes the state without emitting it. */
  private set(state: CircuitState): void {
    this.firstOpening = state.kind === 'closed' ? null : (this.firstOpening ?? state.since);
    this.state = state;
  }

  /** Changes the state and emits the change. */
  private enter<S extends CircuitState & { reason: string }>(state: S, at: number): S {
    const from = this.state.kind;
    this.set(state);
    const { kind: to, reason, by, openings } = state;
    this.onChange({ at, from, to, reason, by, openings });
    return state;
  }
}
