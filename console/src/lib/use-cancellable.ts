import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';
import { type ApiError, asApiError } from './api.js';

interface Cancellable<T, Given extends readonly unknown[]> {
  readonly start: (...given: Given) => void;
  readonly cancel: () => void;
  readonly isIdle: boolean;
  readonly isPending: boolean;
  readonly data: T | undefined;
  /** Undefined for one that was cancelled, too. */
  readonly failure: ApiError | undefined;
}

/** An act that may take long, and can be cancelled meanwhile. */
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
