import type { CircuitBreaker } from '../common/circuit-breaker.js';
import type { CircuitTransition } from './circuit-events.js';
import type { CircuitView } from './circuit.shapes.js';

/** The shown part of a circuit's history. */
export interface ShownHistory {
  /** Oldest first. */
  readonly transitions: readonly CircuitTransition[];
  /** False: the database could not be read, and this is what happened since the start. */
  readonly complete: boolean;
}

/** A circuit as operators see it; times in ISO 8601. */
export function viewOfCircuit(tool: string, breaker: CircuitBreaker, history: ShownHistory): CircuitView {
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
    history: history.transitions.map(({ at, from, to, reason, by }) => ({
      at: iso(at),
      from,
      to,
      reason,
      by,
    })),
    historyComplete: history.complete,
  };
}

const iso = (at: number): string => new Date(at).toISOString();
