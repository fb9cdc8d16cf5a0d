import { ApiError, type LogEntryView, type ProblemView, type DryRunView } from '../../lib/api.js';
import { openStream } from '../../lib/calls.js';
import { readExactly } from '../../lib/exact-json.js';

/** The settings, or the files, that are tried. */
export interface Attempt {
  readonly path: string;
  /** JSON text, or an archive. */
  readonly body: string | Blob;
}

/** A call of the tool in a dry run. */
export interface DryRunCall {
  /** JSON text, sent unchanged. */
  readonly input: string;
  /** Name of the tool, for an MCP server. */
  readonly tool?: string | undefined;
}

/**
 * Starts the executable as it would be registered, asks it who it is, calls it if asked to, and stores nothing.
 * @param onLog what it writes meanwhile
 * @throws ApiError
 */
export async function tryOut(
  { path, body }: Attempt,
  onLog: (entry: LogEntryView) => void,
  signal: AbortSignal,
): Promise<DryRunView> {
  const headers = { 'content-type': typeof body === 'string' ? 'application/json' : body.type };
  const events = await openStream({ method: 'POST', url: path, body, headers }, signal);
  for await (const { event, data } of events) {
    if (event === 'log') onLog(JSON.parse(data) as LogEntryView);
    if (event === 'problem') throw new ApiError(JSON.parse(data) as ProblemView);
    if (event === 'trial') return readExactly(data) as DryRunView;
  }
  throw new ApiError({
    title: 'The dry run ended early',
    detail: 'The server closed the stream before it sent the result.',
  });
}

/**
 * @param settings the text of a JSON object
 * @param name of the tool or server that they describe
 * @returns the same with the call as one more member
 */
export function withCall(settings: string, name: string, call: DryRunCall | undefined): string {
  if (!call) return settings;
  const open = settings.trimEnd().slice(0, -1).trimEnd();
  const tool = call.tool === undefined ? '' : `,"tool":${JSON.stringify(`${name}__${call.tool}`)}`;
  return `${open}${open.endsWith('{') ? '' : ','}"call":{"input":${call.input}${tool}}}`;
}
