import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { LogEntryView, OutcomeView } from '../../lib/api.js';
import { type Attempt, type TrialCall, tryOut } from './trial.js';

/**
 * A trial of the settings as they are written, its log as it comes, and calls of what was tried.
 * @param attempt what is sent, with the call or without one
 */
export function useTrial(attempt: (call?: TrialCall) => Attempt | Promise<Attempt>) {
  const [log, setLog] = useState<readonly LogEntryView[]>([]);
  const abort = useRef<AbortController>(null);
  const start = async (signal: AbortSignal, call?: TrialCall) => {
    setLog([]);
    return tryOut(await attempt(call), (entry) => setLog((old) => [...old, entry]), signal);
  };
  const trial = useMutation({
    mutationFn: () => {
      abort.current = new AbortController();
      return start(abort.current.signal);
    },
  });
  const run = async (call: TrialCall, signal: AbortSignal): Promise<OutcomeView> => {
    const { outcome } = await start(signal, call);
    if (!outcome) throw new Error('The tool was started, and not called.');
    return outcome;
  };
  return { trial, log, run, cancel: () => abort.current?.abort() };
}
