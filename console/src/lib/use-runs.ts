import { useState } from 'react';
import type { OutcomeView } from './api.js';
import { useCancellable } from './use-cancellable.js';

/** A call that ran. */
export interface Run {
  readonly outcome: OutcomeView;
  /** Milliseconds between the request and its answer, as the browser measured them. */
  readonly roundTripMs: number;
}

/** Calls one after another: the last one and the one before, to be compared. */
export function useRuns<Given extends readonly unknown[] = []>(
  act: (signal: AbortSignal, ...given: Given) => Promise<OutcomeView>,
) {
  const [[now, before], setRuns] = useState<readonly [now?: Run, before?: Run]>([]);
  const call = useCancellable(async (signal, ...given: Given) => {
    const began = performance.now();
    const outcome = await act(signal, ...given);
    const roundTripMs = performance.now() - began;
    setRuns(([last]) => [{ outcome, roundTripMs }, last]);
  });
  return { ...call, now, before };
}
