import type { DrainSettings, Settled } from './journal-drain.js';
import type { SinkSettings } from './row-sink.js';

/** What the drain's thread is started with. Durations in milliseconds. */
export interface DrainOrders {
  readonly drain: DrainSettings;
  readonly sink: SinkSettings;
  /** Pause between two looks at the journal when there was nothing more to do. */
  readonly intervalMs: number;
}

/** Said to the drain. */
export type DrainRequest =
  /** Look now, and answer when all that is in the journal by now is committed, or why it is not. */
  | { readonly flush: number }
  /** The journal has no writer any more: drain what is left and end. */
  | { readonly finish: number };

/** Said by the drain. */
export type DrainNews =
  | { readonly settled: Settled }
  | { readonly flushed: number; readonly error?: string }
  | { readonly retrying: { readonly error: string; readonly delayMs: number } }
  | { readonly damaged: { readonly segment: number; readonly lines: number; readonly bytes: number } }
  | { readonly quarantined: { readonly executionId: string; readonly tool: string; readonly reason: string } }
  | { readonly removed: number }
  | { readonly replayed: { readonly rows: number; readonly interrupted: number } };
