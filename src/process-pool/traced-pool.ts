import type { Tracer } from '../observability/tracing/tracer.js';
import type { PoolOptions } from './pool-parts.js';
import {
  type PoolAnswer,
  PoolFailure,
  type PoolRequest,
  type PoolSettings,
  type RequestNotes,
} from './pool.types.js';
import { ProcessPool } from './process-pool.js';

/**
 * A pool whose requests show in traces: the wait for a process, the start of one if it came to that, and the round
 * trip. All is read from a request's notes when it is over, so that the pool itself does nothing else than without.
 */
export class TracedPool extends ProcessPool {
  constructor(
    settings: PoolSettings,
    options: PoolOptions,
    private readonly tracer: Tracer,
  ) {
    super(settings, options);
  }

  override async execute(request: PoolRequest): Promise<PoolAnswer> {
    const arrivedAt = performance.now();
    try {
      const answer = await super.execute(request);
      this.tell(arrivedAt, answer.notes, 'error' in answer.reply ? 'tool_error' : undefined);
      return answer;
    } catch (error) {
      if (error instanceof PoolFailure) this.tell(arrivedAt, error.notes, error.reason);
      throw error;
    }
  }

  private tell(arrivedAt: number, notes: RequestNotes, failure: string | undefined): void {
    const now = performance.now();
    const { queueMs, spawnMs, pid } = notes;
    const failed = failure !== undefined && { 'error.type': failure };
    if (queueMs === undefined) {
      this.tracer.past('pool.wait', arrivedAt, now, { ...failed });
      return;
    }
    const begunAt = arrivedAt + queueMs;
    this.tracer.past('pool.wait', arrivedAt, begunAt, {});
    // The process may have been on its way before this request came.
    if (spawnMs !== undefined) this.tracer.past('pool.spawn', begunAt - spawnMs, begunAt, {});
    this.tracer.past('pool.round_trip', begunAt, now, {
      ...(pid !== undefined && { 'process.pid': pid }),
      ...(notes.outputBytes !== undefined && { 'toolkeeper.output_bytes': notes.outputBytes }),
      ...failed,
    });
  }
}
