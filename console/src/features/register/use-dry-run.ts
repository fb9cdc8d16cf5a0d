import { useState } from 'react';
import type { LogEntryView } from '../../lib/api.js';
import { useCancellable } from '../../lib/use-cancellable.js';
import { useRuns } from '../../lib/use-runs.js';
import { type Attempt, type TrialCall, tryOut } from './trial.js';

/**
 * A dry run of the settings as they are written, its log as it comes, and calls of what was started.
 * @param attempt what is sent, with the call or without one
 */
export function useTrial(attempt: (call?: TrialCall) => Attempt | Promise<Attempt>) {
  const [log, setLog] = useState<readonly LogEntryView[]>([]);
  const [isCalled, setCalled] = useState(false);
  const start = async (signal: AbortSignal, call?: TrialCall) => {
    setLog([]);
    setCalled(call !== undefined);
    return tryOut(await attempt(call), (entry) => setLog((old) => [...old, entry]), signal);
  };
  const trial = useCancellable((signal) => start(signal));
  const calls = useRuns(async (signal, call: TrialCall) => {
    const { outcome } = await start(signal, call);
    if (!outcome) throw new Error('The tool was started, and not called.');
    return outcome;
  });
  // The result of a call belongs to the settings of its dry run; it stays to be compared with the next one.
  const call = isCalled ? calls : { ...calls, now: undefined, failure: undefined };
  return { trial, log, call };
}

export type Trial = ReturnType<typeof useTrial>;
