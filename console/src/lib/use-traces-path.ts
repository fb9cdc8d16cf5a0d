import type { ExecutionView } from './api.js';
import { usePermission } from './session.js';

/** Maximum number of traces in one request for spans. */
const maxTraces = 100;

/**
 * The address of the spans of the traces that executions belong to, as the API has them.
 * @returns undefined if there are none, or the caller may not read them
 */
export function useTracesPath(executions: readonly ExecutionView[]): string | undefined {
  const mayRead = usePermission('traces:read') === 'yes';
  const traces = [...new Set(executions.map(({ traceId }) => traceId))].filter((id) => id !== null);
  if (!mayRead || traces.length === 0) return undefined;
  return `/api/v1/spans?limit=1000&trace_ids=${traces.slice(-maxTraces).join(',')}`;
}
