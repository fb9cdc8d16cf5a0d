import { ApiError, type LogEntryView, type ProblemView, type TrialView } from '../../lib/api.js';
import type { Act } from '../../lib/act.js';
import { openStream } from '../../lib/calls.js';
import { readExactly } from '../../lib/exact-json.js';

/**
 * Starts the executable as it would be registered, asks it who it is, calls it if the body says so, and keeps nothing.
 * @param onLog what it writes meanwhile
 * @throws ApiError
 */
export async function tryOut(
  { method, path, body }: Act,
  onLog: (entry: LogEntryView) => void,
  signal: AbortSignal,
): Promise<TrialView> {
  const headers = { 'content-type': 'application/json' };
  for await (const { event, data } of await openStream({ method, url: path, body, headers }, signal)) {
    if (event === 'log') onLog(JSON.parse(data) as LogEntryView);
    if (event === 'problem') throw new ApiError(JSON.parse(data) as ProblemView);
    if (event === 'trial') return readExactly(data) as TrialView;
  }
  throw new ApiError({
    title: 'The trial ended early',
    detail: 'The server closed the stream before it said what came of it.',
  });
}
