import { ApiError, client, type LogEntryView, type TrialView } from '../../lib/api.js';
import type { Act } from '../../lib/act.js';
import { eventsOf } from '../../lib/event-stream.js';
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
  const { data, response, error } = await client.request<ReadableStream<Uint8Array>, unknown>({
    ...{ method, url: path, body, bodySerializer: String, parseAs: 'stream', signal },
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
  });
  if (response?.ok !== true || !data) throw new ApiError(problemIn(error), response);
  for await (const { event, data: said } of eventsOf(data)) {
    if (event === 'log') onLog(JSON.parse(said) as LogEntryView);
    if (event === 'problem') throw new ApiError(problemIn(JSON.parse(said)));
    if (event === 'trial') return readExactly(said) as TrialView;
  }
  throw new ApiError({
    title: 'The trial ended early',
    detail: 'The server closed the stream before it said what came of it.',
  });
}

const problemIn = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {});
