/** When a circuit opens and how it comes back; durations in milliseconds. */
export interface CircuitSettings {
  /** Faults in the window that open the circuit … */
  readonly failures: number;
  /** … if they are at least this part (0 to 1) of the window's calls. */
  readonly minFailureRate: number;
  /** Calls that the window must hold before it can open; absent: as many as there are faults. */
  readonly minCalls?: number;
  readonly windowMs: number;
  readonly openMs: number;
  readonly maxOpenMs: number;
  /** Calls that may try the tool in half-open; as many successes close the circuit. */
  readonly probes: number;
  /** The word for the faults in its reasons, in the plural; default: tool faults. */
  readonly faultsAre?: string;
}

interface StateBase {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The operator who put it into this state; null: it went there by itself. */
  readonly by: string | null;
  /** Openings in a row. */
  readonly openings: number;
}

export type CircuitState =
  | (StateBase & { readonly kind: 'closed'; readonly reason: string | null })
  | (StateBase & {
      readonly kind: 'open';
      readonly reason: string;
      /** When probing begins, milliseconds since the epoch; null: held open until it is closed or reset by hand. */
      readonly until: number | null;
    })
  | (StateBase & {
      readonly kind: 'half_open';
      readonly reason: string;
      /** Executions that are trying the tool now. */
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
  /** The operator who did it; null: it happened by itself. */
  readonly by: string | null;
  /** Openings in a row, this one included. */
  readonly openings: number;
}

/** The circuit's answer to a call. */
export type CircuitDecision =
  | { readonly kind: 'pass' }
  /** The call tries the tool; `release` gives its slot back when no result comes of it. */
  | { readonly kind: 'probe'; readonly release: () => void }
  | { readonly kind: 'refuse'; readonly reason: string; readonly retryAfterMs: number };

/** How a call ended, as far as the circuit cares. */
export interface CircuitSample {
  readonly executionId: string;
  readonly fault: boolean;
}

/** A state that an operator sets, and why. */
export interface CircuitOverride {
  readonly by: string;
  readonly reason: string;
}

/** A circuit's past before a restart; times in milliseconds since the epoch. */
export interface CircuitPast {
  /** Samples in no particular order. */
  readonly samples: readonly { readonly at: number; readonly fault: boolean }[];
  /** Its last change. */
  readonly last?: Omit<CircuitChange, 'from' | 'by'> & { readonly id?: string };
  /** First opening since it was last closed. */
  readonly openSince?: number;
  /** When it was last closed: what came before counts no more. */
  readonly closedAt?: number;
  /** Set if it was opened by hand and not closed since. */
  readonly held?: CircuitOverride & { readonly at: number };
}
