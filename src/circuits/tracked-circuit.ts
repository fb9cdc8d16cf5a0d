import type { CircuitBreaker } from './breaker/circuit-breaker.js';
import type { CircuitKind } from './breaker/circuit-state.js';
import type { WindowCounts } from './breaker/sample-ring.js';
import type { CircuitTransition } from './circuit-transitions.repository.js';

/** What the circuits of several replicas decide together. */
export interface CircuitFleet {
  /** Id of this replica. */
  readonly replica: string;
  /**
   * Calls and faults of all replicas; undefined if that cannot be found out.
   * @param urgent false: also undefined if it was asked for often in the last second
   */
  countFaults(tool: string, since: number, urgent: boolean): Promise<WindowCounts | undefined>;
  /** Whether this replica is the one that probes. */
  mayProbe(tool: string): boolean;
  /** Asks to be the one that probes; undefined: that is decided. */
  takeLease(tool: string): Promise<void> | undefined;
  endLease(tool: string): void;
  /** Stores a change so that the other replicas adopt it. @throws the database's error */
  write(transition: CircuitTransition): Promise<void>;
}

/** One tool's circuit and what has happened to it since the start. */
export interface TrackedCircuit {
  /** Whether it was opened by this replica's own faults alone. */
  local: boolean;
  readonly breaker: CircuitBreaker;
  /** Oldest first; the last 50. */
  readonly history: CircuitTransition[];
  readonly transitions: Record<CircuitKind, number>;
}
