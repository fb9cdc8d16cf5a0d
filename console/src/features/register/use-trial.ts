import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { LogEntryView, OutcomeView } from '../../lib/api.js';
import type { Act } from '../../lib/act.js';
import { tryOut } from './trial.js';

/** A trial of the settings as they are written, its log as it comes, and calls of what was tried. */
export function useTrial(address: Omit<Act, 'body'>, settings: string) {
  const [log, setLog] = useState<readonly LogEntryView[]>([]);
  const abort = useRef<AbortController>(null);
  const start = (body: string, signal: AbortSignal) => {
    setLog([]);
    return tryOut({ ...address, body }, (entry) => setLog((old) => [...old, entry]), signal);
  };
  const trial = useMutation({
    mutationFn: () => {
      abort.current = new AbortController();
      return start(settings, abort.current.signal);
    },
  });
  const run = async (inputText: string, signal: AbortSignal): Promise<OutcomeView> => {
    const { outcome } = await start(withCall(settings, inputText), signal);
    if (!outcome) throw new Error('The tool was started, and not called.');
    return outcome;
  };
  return { trial, log, run, cancel: () => abort.current?.abort() };
}

/** The text of an object with the call as one more member: the input goes out as it is written. */
function withCall(settings: string, inputText: string): string {
  const open = settings.trimEnd().slice(0, -1).trimEnd();
  return `${open}${open.endsWith('{') ? '' : ','}"call":{"input":${inputText}}}`;
}
