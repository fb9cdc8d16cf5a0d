import type { Tracer } from '../../observability/tracing/tracer.js';
import type { RequestNotes } from '../../process-pool/pool.types.js';

/**
 * Shows a pool's request in the trace: the wait for a process, the start of one if it came to that, and the round trip.
 * All is read from the request's notes when it is over.
 * @param arrivedAt of performance.now()
 */
export function tellPoolSpans(
  tracer: Tracer,
  arrivedAt: number,
  notes: RequestNotes,
  failure?: string,
): void {
  const now = performance.now();
  const { queueMs, spawnMs, pid, outputBytes } = notes;
  const failed = failure !== undefined && { 'error.type': failure };
  if (queueMs === undefined) return tracer.past('pool.wait', arrivedAt, now, { ...failed });
  const begunAt = arrivedAt + queueMs;
  tracer.past('pool.wait', arrivedAt, begunAt, {});
  // The process may have been on its way before this request came.
  if (spawnMs !== undefined) tracer.past('pool.spawn', begunAt - spawnMs, begunAt, {});
  tracer.past('pool.round_trip', begunAt, now, {
    ...(pid !== undefined && { 'process.pid': pid }),
    ...(outputBytes !== undefined && { 'toolkeeper.output_bytes': outputBytes }),
    ...failed,
  });
}
