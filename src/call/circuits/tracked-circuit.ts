import type { CircuitBreaker } from '../../base/outbound/breaker/circuit-breaker.js';
import type { CircuitKind } from '../../base/outbound/breaker/circuit-state.js';
import type { CircuitTransition } from './circuit-transitions.repository.js';

/** One tool's circuit and what has happened to it since the start. */
export interface TrackedCircuit {
  /** Whether it was opened by this replica's own faults alone. */
  local: boolean;
  /** Set while it is found out whether an opening is of this replica alone; later changes are emitted after it. */
  judging?: Promise<void> | undefined;
  /** Id of the last change that all replicas share. */
  lastShared: string | undefined;
  readonly breaker: CircuitBreaker;
  /** Oldest first; the last 50. */
  readonly history: CircuitTransition[];
  readonly transitions: Record<CircuitKind, number>;
}
