import type { CircuitBreaker, CircuitTransition } from './circuit-breaker.js';
import type { CircuitView } from './circuit.dto.js';

/** A circuit as operators see it; times in ISO 8601. */
export function viewOfCircuit(
  tool: string,
  breaker: CircuitBreaker,
  history: readonly CircuitTransition[],
): CircuitView {
  // First: looking at the state may add the transition that time has brought about.
  const state = breaker.current();
  const { faults, calls } = breaker.counts();
  return {
    tool,
    state: state.kind,
    reason: state.reason,
    since: iso(state.since),
    nextProbeAt: state.kind === 'open' && state.until !== null ? iso(state.until) : null,
    faultsInWindow: faults,
    callsInWindow: calls,
    history: history.map((transition) => ({ ...transition, at: iso(transition.at) })),
  };
}

const iso = (at: number): string => new Date(at).toISOString();
