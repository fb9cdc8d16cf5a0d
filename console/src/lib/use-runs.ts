import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type ApiError, asApiError, type OutcomeView } from './api.js';

interface Cancellable<T, Given extends readonly unknown[]> {
  readonly start: (...given: Given) => void;
  readonly cancel: () => void;
  readonly isIdle: boolean;
  readonly isPending: boolean;
  readonly data: T | undefined;
  /** Undefined also for a cancelled one. */
  readonly failure: ApiError | undefined;
}

/** A long action that can be cancelled. */
export function useCancellable<T, Given extends readonly unknown[] = []>(
  act: (signal: AbortSignal, ...given: Given) => Promise<T>,
): Cancellable<T, Given> {
  const abort = useRef<AbortController>(null);
  const { mutate, isIdle, isPending, data, error } = useMutation({
    mutationFn: (given: Given) => {
      abort.current = new AbortController();
      return act(abort.current.signal, ...given);
    },
  });
  const failure = error && error.name !== 'AbortError' ? asApiError(error) : undefined;
  const start = (...given: Given): void => mutate(given);
  return { start, cancel: () => abort.current?.abort(), isIdle, isPending, data, failure };
}

/** A call that ran. */
export interface Run {
  readonly outcome: OutcomeView;
  /** Milliseconds between the request and its answer, as the browser measured them. */
  readonly roundTripMs: number;
}

/** Successive calls: the last one, and the one before for comparison. */
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
