import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';
import { type ApiError, asApiError } from './api.js';

interface Cancellable<T> {
  readonly start: () => void;
  readonly cancel: () => void;
  readonly isIdle: boolean;
  readonly isPending: boolean;
  readonly data: T | undefined;
  /** Undefined for one that was cancelled, too. */
  readonly failure: ApiError | undefined;
}

/** An act that may take long, and can be cancelled meanwhile. */
export function useCancellable<T>(act: (signal: AbortSignal) => Promise<T>): Cancellable<T> {
  const abort = useRef<AbortController>(null);
  const { mutate, isIdle, isPending, data, error } = useMutation({
    mutationFn: () => {
      abort.current = new AbortController();
      return act(abort.current.signal);
    },
  });
  const failure = error && error.name !== 'AbortError' ? asApiError(error) : undefined;
  return { start: mutate, cancel: () => abort.current?.abort(), isIdle, isPending, data, failure };
}
