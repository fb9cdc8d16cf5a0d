import type { ExecutionNotes, ToolRun } from '../tool-contract/tool.js';
import { ToolFailure } from '../tool-contract/tool-outcome.js';

type Run = Pick<ToolRun, 'signal' | 'deadline' | 'notes'>;

/** What the notes of an execution say of its source. */
interface Found {
  readonly freshForMs?: number;
  readonly stale?: boolean;
}

/**
 * Asks a source for as long as somebody waits: until the call's deadline, or until its caller leaves. A source that is
 * away, or slow, is no fault of the tool: the LLM reads the fallback and goes on, and the tool's circuit stays closed.
 * @param what is not available then
 * @param report takes the reason, which is for the operator
 * @throws ToolFailure `cancelled` or `upstream_unavailable`
 */
export async function askSource<T extends Found>(
  { signal, deadline, notes }: Run,
  ask: (signal: AbortSignal) => Promise<T>,
  what: string,
  report: (error: unknown) => void,
): Promise<T> {
  const end = new AbortController();
  const stop = (): void => end.abort(new Error(`no answer within ${deadline.totalMs} ms`));
  const timer = setTimeout(stop, deadline.remainingMs());
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const found = await ask(end.signal);
    noteAge(notes, found);
    return found;
  } catch (error) {
    if (signal.aborted) throw new ToolFailure('cancelled', 'The caller left before the tool ended');
    report(error);
    throw new ToolFailure('upstream_unavailable', `${what} is not available`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

function noteAge(notes: ExecutionNotes, { freshForMs, stale }: Found): void {
  if (freshForMs !== undefined) notes.freshForMs = freshForMs;
  if (stale) notes['stale'] = true;
}
