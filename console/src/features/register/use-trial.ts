import { useState } from 'react';
import type { LogEntryView, OutcomeView } from '../../lib/api.js';
import { useCancellable } from '../../lib/use-cancellable.js';
import { type Attempt, type TrialCall, tryOut } from './trial.js';

/**
 * A trial of the settings as they are written, its log as it comes, and calls of what was tried.
 * @param attempt what is sent, with the call or without one
 */
export function useTrial(attempt: (call?: TrialCall) => Attempt | Promise<Attempt>) {
  const [log, setLog] = useState<readonly LogEntryView[]>([]);
  const start = async (signal: AbortSignal, call?: TrialCall) => {
    setLog([]);
    return tryOut(await attempt(call), (entry) => setLog((old) => [...old, entry]), signal);
  };
  const trial = useCancellable((signal) => start(signal));
  const run = async (call: TrialCall, signal: AbortSignal): Promise<OutcomeView> => {
    const { outcome } = await start(signal, call);
    if (!outcome) throw new Error('The tool was started, and not called.');
    return outcome;
  };
  return { trial, log, run };
}
