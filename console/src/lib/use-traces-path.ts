import type { ExecutionView } from './api.js';
import { usePermission } from './session.js';

/** As many as one question for spans takes well. */
const mostTraces = 100;

/**
 * The address of the spans of the traces that executions belong to, as the API has them.
 * @returns undefined where there are none, or the caller may not read them
 */
export function useTracesPath(executions: readonly ExecutionView[]): string | undefined {
  const mayRead = usePermission('traces:read') === 'yes';
  const traces = [...new Set(executions.map(({ traceId }) => traceId))].filter((id) => id !== null);
  if (!mayRead || traces.length === 0) return undefined;
  return `/api/v1/spans?limit=1000&trace_ids=${traces.slice(-mostTraces).join(',')}`;
}
