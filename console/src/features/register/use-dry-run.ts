import { useState } from 'react';
import type { LogEntryView } from '../../lib/api.js';
import { useCancellable, useRuns } from '../../lib/use-runs.js';
import { type Attempt, type DryRunCall, tryOut } from './dry-run.js';

/**
 * A dry run of the settings as they are written, its log as it comes, and calls of what was started.
 * @param attempt what is sent, with the call or without one
 */
export function useDryRun(attempt: (call?: DryRunCall) => Attempt | Promise<Attempt>) {
  const [log, setLog] = useState<readonly LogEntryView[]>([]);
  const [isCalled, setCalled] = useState(false);
  const start = async (signal: AbortSignal, call?: DryRunCall) => {
    setLog([]);
    setCalled(call !== undefined);
    return tryOut(await attempt(call), (entry) => setLog((old) => [...old, entry]), signal);
  };
  const run = useCancellable((signal) => start(signal));
  const calls = useRuns(async (signal, call: DryRunCall) => {
    const { outcome } = await start(signal, call);
    if (!outcome) throw new Error('The tool was started, and not called.');
    return outcome;
  });
  // The result of a call belongs to the settings of its dry run; it stays to be compared with the next one.
  const call = isCalled ? calls : { ...calls, now: undefined, failure: undefined };
  return { run, log, call };
}

export type DryRun = ReturnType<typeof useDryRun>;
