import type { PoolStats } from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import type { EffectiveSandbox } from '../../sandbox/sandbox.types.js';
import type { ProcessEnd } from '../../sandbox/enforcement.js';
import type { McpListing } from '../../mcp/client/mcp-listing.js';
import type { Redactor } from '../../secrets/redactor.js';
import type { ProjectPools } from './project-pools.js';

export interface RunningBackend {
  /** The pool of all projects; if there are `projects`, of `default` alone. */
  readonly pool: ProcessPool;
  /** Absent: the projects share their processes. */
  readonly projects?: ProjectPools;
  readonly workingDir: string;
  /** What is started, links resolved. */
  readonly realPath: string;
  readonly redactor: Redactor;
  /** What holds for its processes; absent: nothing is known of it. */
  readonly effective?: EffectiveSandbox;
  /** The rule of its sandbox that a process was ended for, by how it ended. */
  readonly brokenRule?: (end: ProcessEnd) => string | undefined;
  /** The grant that may be missing where the tool reports an error. */
  readonly hint?: (error: string) => string | undefined;
  /** Of an MCP server: the tools that it lists. */
  readonly listing?: McpListing;
}

/** A pool to run on, or the reason why there is none. */
export type ToolBackend = RunningBackend | { readonly unavailable: string };

/** All pools of a tool; none if it cannot run. */
export function poolsOf(backend: ToolBackend | undefined): readonly ProcessPool[] {
  if (!backend || 'unavailable' in backend) return [];
  return backend.projects?.all() ?? [backend.pool];
}

/** The sum of several pools' statistics; undefined without pools. */
export function sumOfStats(pools: readonly ProcessPool[]): PoolStats | undefined {
  const [first, ...others] = pools.map((pool) => pool.stats());
  return others.reduce<PoolStats | undefined>(
    (sum, stats) =>
      sum && {
        starting: sum.starting + stats.starting,
        idle: sum.idle + stats.idle,
        busy: sum.busy + stats.busy,
        waiting: sum.waiting + stats.waiting,
        pids: [...sum.pids, ...stats.pids],
      },
    first,
  );
}

/** The pool that serves a project. @throws PoolFailure `queue_full`, `shutting_down` */
export const poolFor = ({ pool, projects }: RunningBackend, project: string): ProcessPool =>
  projects ? projects.of(project) : pool;
