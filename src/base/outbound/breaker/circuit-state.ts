/** Rules by which a circuit opens and closes. Durations are in milliseconds. */
export interface CircuitSettings {
  /** Min faults in the window that open the circuit. */
  readonly failures: number;
  /** Min share of faults among the window's calls, 0 to 1. */
  readonly minFailureRate: number;
  /** Min calls in the window before the circuit can open. Absent: no minimum. */
  readonly minCalls?: number;
  readonly windowMs: number;
  /** Duration of the first opening. It doubles with each opening in a row. */
  readonly openMs: number;
  readonly maxOpenMs: number;
  /** Max probes in half-open. As many successes close the circuit. */
  readonly probes: number;
  /** Plural noun for faults in reasons. Default: tool faults. */
  readonly faultsAre?: string;
}

/** Members of all states. */
interface StateBase {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The operator who changed the state; null if it changed by itself. */
  readonly by: string | null;
  /** Openings in a row. */
  readonly openings: number;
}

/** The state of a circuit. */
export type CircuitState =
  | (StateBase & { readonly kind: 'closed'; readonly reason: string | null })
  | (StateBase & {
      readonly kind: 'open';
      readonly reason: string;
      /** Time at which probing begins, in milliseconds since the epoch; null if it is held open by hand. */
      readonly until: number | null;
    })
  | (StateBase & {
      readonly kind: 'half_open';
      readonly reason: string;
      /** Ids of running probes. */
      readonly slots: Set<string>;
      successes: number;
    });

export type CircuitKind = CircuitState['kind'];

/** One change of a circuit's state. */
export interface CircuitChange {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly from: CircuitKind;
  readonly to: CircuitKind;
  readonly reason: string;
  /** The operator who made the change; null if it happened by itself. */
  readonly by: string | null;
  /** Openings in a row, this one included. */
  readonly openings: number;
}

/** The circuit's answer to a call. */
export type CircuitDecision =
  | { readonly kind: 'pass' }
  /** The call is a probe; `release` frees its slot if it has no result. */
  | { readonly kind: 'probe'; readonly release: () => void }
  | { readonly kind: 'refuse'; readonly reason: string; readonly retryAfterMs: number };

/** A state that an operator sets, and why. */
export interface CircuitOverride {
  readonly by: string;
  readonly reason: string;
}

/** A circuit's history before a restart; times in milliseconds since the epoch. */
export interface CircuitPast {
  /** Samples in no particular order. */
  readonly samples: readonly { readonly at: number; readonly fault: boolean }[];
  /** The last change. */
  readonly last?: Omit<CircuitChange, 'from' | 'by'> & { readonly id?: string };
  /** Time of the first opening since it was last closed. */
  readonly openSince?: number;
  /** Time at which it was last closed. Earlier samples do not count. */
  readonly closedAt?: number;
  /** Set if it was opened by hand and not closed since. */
  readonly held?: CircuitOverride & { readonly at: number };
}
