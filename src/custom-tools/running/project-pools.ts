import { PoolFailure } from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';

/**
 * Pools of a tool whose processes serve one project each. A project other than `default` gets its pool with its first
 * call, and keeps it until its processes have been idle for their time.
 */
export class ProjectPools {
  private readonly pools = new Map<string, ProcessPool>();
  private isClosed = false;

  /**
   * @param ofDefault the pool of project `default`, which keeps `minProcesses`
   * @param max pools besides that one
   */
  constructor(
    private readonly ofDefault: ProcessPool,
    private readonly make: () => ProcessPool,
    private readonly end: (pool: ProcessPool) => void,
    private readonly max: number,
  ) {}

  /** @throws PoolFailure `queue_full` if too many projects use the tool, `shutting_down` */
  of(project: string): ProcessPool {
    if (project === 'default') return this.ofDefault;
    return this.pools.get(project) ?? this.open(project);
  }

  all(): ProcessPool[] {
    return [this.ofDefault, ...this.pools.values()];
  }

  /** Projects get no new pool any more. */
  close(): void {
    this.isClosed = true;
  }

  private open(project: string): ProcessPool {
    if (this.isClosed) throw new PoolFailure('shutting_down', 'The tool is stopping');
    if (this.pools.size >= this.max) for (const each of this.pools.keys()) this.endIfUnused(each);
    if (this.pools.size >= this.max) {
      const why = `${this.max} projects use the tool already (CUSTOM_TOOLS_MAX_PROCESSES)`;
      throw new PoolFailure('queue_full', why);
    }
    const pool = this.make();
    this.pools.set(project, pool);
    pool.events.subscribe((event) => {
      if (event.type === 'terminate' && event.reason === 'idle' && this.pools.get(project) === pool)
        this.endIfUnused(project);
    });
    return pool;
  }

  private endIfUnused(project: string): void {
    const pool = this.pools.get(project);
    const { starting = 0, idle = 0, busy = 0, waiting = 0 } = pool?.stats() ?? {};
    if (!pool || starting + idle + busy + waiting > 0) return;
    this.pools.delete(project);
    this.end(pool);
  }
}
