import { Injectable, Logger } from '@nestjs/common';
import type { CircuitBreaker } from './breaker/circuit-breaker.js';
import { CircuitBreakers, type TrackedCircuit } from './circuit-breakers.js';
import { CircuitHistory, type CircuitTransition } from './circuit-transitions.repository.js';
import type { CircuitListView, CircuitStateView, CircuitView, OverrideCircuitBody } from './circuit.dto.js';

const shownByDefault = 50;
const defaultReasons = {
  openByHand: 'Opened by hand',
  closeByHand: 'Closed by hand',
  reset: 'Reset by hand',
};

/** The shown part of a circuit's history. */
interface ShownHistory {
  /** Oldest first. */
  readonly transitions: readonly CircuitTransition[];
  /** False: the database could not be read, and this is what happened since the start. */
  readonly complete: boolean;
}

/** Circuits as operators see and override them. */
@Injectable()
export class CircuitsService {
  private readonly logger = new Logger(CircuitsService.name);

  constructor(
    private readonly circuits: CircuitBreakers,
    private readonly history: CircuitHistory,
  ) {}

  /** @throws Problem `not_found` for a tool that is not registered, was not seen since the start and is not held open by hand */
  async circuitOf(tool: string, limit = shownByDefault): Promise<CircuitView> {
    const tracked = this.circuits.find(tool);
    // First: looking at the state may add the transition that time has brought about.
    tracked.breaker.current();
    return viewOfCircuit(tool, tracked.breaker, await this.shown(tool, tracked, limit));
  }

  notClosed(): CircuitListView {
    const data = this.circuits.notClosed().map((tool) => stateOf(tool, this.circuits.find(tool).breaker));
    return { data };
  }

  /** Opens, closes or resets a tool's circuit by hand. @throws Problem `not_found` */
  override(
    tool: string,
    change: keyof typeof defaultReasons,
    body: OverrideCircuitBody,
    caller: string,
  ): Promise<CircuitView> {
    const { by = caller, reason = defaultReasons[change] } = body;
    this.circuits.find(tool).breaker[change]({ by, reason });
    return this.circuitOf(tool);
  }

  /** A circuit is shown, and obeys, also while the database is away. */
  private async shown(tool: string, { history }: TrackedCircuit, limit: number): Promise<ShownHistory> {
    try {
      return { transitions: await this.history.newest(tool, limit), complete: true };
    } catch (error) {
      this.logger.warn(error, 'the history of a circuit could not be read');
      return { transitions: history.slice(-limit), complete: false };
    }
  }
}

/** A circuit as operators see it; times in ISO 8601. */
const viewOfCircuit = (tool: string, breaker: CircuitBreaker, history: ShownHistory): CircuitView => ({
  ...stateOf(tool, breaker),
  history: history.transitions.map(({ at, from, to, reason, by }) => ({ at: iso(at), from, to, reason, by })),
  historyComplete: history.complete,
});

function stateOf(tool: string, breaker: CircuitBreaker): CircuitStateView {
  const state = breaker.current();
  const { faults, calls } = breaker.counts();
  const { failures, minFailureRate, windowMs } = breaker.rules();
  const until = state.kind === 'open' ? state.until : null;
  return {
    tool,
    state: state.kind,
    reason: state.reason,
    by: state.by,
    since: iso(state.since),
    nextProbeAt: until === null ? null : iso(until),
    heldByHand: breaker.isHeld(),
    faultsInWindow: faults,
    callsInWindow: calls,
    opensAt: { faults: failures, minFailureRate, windowMs },
  };
}

const iso = (at: number): string => new Date(at).toISOString();
