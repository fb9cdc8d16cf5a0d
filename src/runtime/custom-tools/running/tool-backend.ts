import { Refusal } from '../../../base/common/errors.js';
import type { Principal } from '../../../web/contract/principal.js';
import {
  type Dialect,
  type PoolStats,
  PoolFailure,
  type PoolSettings,
  type ProcessSpec,
} from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import type { Confined } from '../../sandbox/sandbox.js';
import type { McpListing } from '../../mcp-client/mcp-review.js';
import type { ServerAccounts } from '../accounts/server-credentials.js';
import type { Redactor } from '../../secrets/redactor.js';
import { processLimits } from '../launch/probe-executable.js';
import type { AppConfig } from '../../../base/config/app-config.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

/** The pools of a tool that can run, with what belongs to them. */
export interface RunningBackend {
  /** The pool of all callers; with `separate`, only that of project `default` or, if callers have their own, of none. */
  readonly pool: ProcessPool;
  /** Pools of single projects or callers. Absent if all share their processes. */
  readonly separate?: SeparatePools;
  /** Accounts of its callers, each of which has processes of its own. */
  readonly accounts?: ServerAccounts;
  /** Absent if callers share processes. @throws Refusal for a caller that cannot have processes of its own */
  readonly ownerOf?: (caller: Principal) => Owner;
  readonly workingDir: string;
  /** Path of the program that is started, links resolved. */
  readonly realPath: string;
  readonly redactor: Redactor;
  /** The sandbox of its processes. */
  readonly confined: Pick<Confined, 'effective' | 'brokenRule' | 'hint'>;
  /** Tools that an MCP server lists. */
  readonly listing?: McpListing;
}

/** A pool to run on, or the reason why there is none. */
export type ToolBackend = RunningBackend | { readonly unavailable: string };

/** The only caller of some processes. */
export interface Owner {
  readonly user: string;
  /** Token in the environment of its processes, which are replaced when it changes. */
  readonly token?: string;
}

/** Determines the owner of a call's processes, for a tool whose callers do not share them. */
export const ownersOf =
  (tool: string, accounts: ServerAccounts | undefined): RunningBackend['ownerOf'] =>
  (caller) => {
    const user = accounts ? accounts.ownerOf(caller) : caller.keyId;
    if (user === undefined)
      throw new Refusal('authorization_required', `${tool} has processes of each caller: send a key`);
    return { user, ...(accounts?.tokenOf && { token: accounts.tokenOf(user) }) };
  };

/** All pools of a tool; none if it cannot run. */
export function poolsOf(backend: ToolBackend | undefined): readonly ProcessPool[] {
  if (!backend || 'unavailable' in backend) return [];
  return backend.separate?.all() ?? [backend.pool];
}

/** The sum of several pools' statistics; undefined without pools. */
export function sumOfStats(pools: readonly ProcessPool[]): PoolStats | undefined {
  if (pools.length === 0) return undefined;
  const sum = { starting: 0, idle: 0, busy: 0, waiting: 0, pids: [] as number[] };
  for (const { starting, idle, busy, waiting, pids } of pools.map((pool) => pool.stats())) {
    sum.starting += starting;
    sum.idle += idle;
    sum.busy += busy;
    sum.waiting += waiting;
    sum.pids.push(...pids);
  }
  return sum;
}

/**
 * Pools of a tool by project, or by user and project. A pool other than that of project `default` is made at the first
 * call and ended when its last process has been idle for too long.
 */
export class SeparatePools {
  /** Pools other than that of project `default`, by project or by `ownerKey`. */
  private readonly pools = new Map<string, ProcessPool>();
  /** Tokens of callers in the environment of pools. */
  private readonly tokens = new WeakMap<ProcessPool, string>();
  private isClosed = false;

  /** @param ofDefault the pool of project `default`, which keeps `minProcesses` @param max number of other pools */
  constructor(
    private readonly ofDefault: ProcessPool,
    private readonly make: (owner?: Owner) => ProcessPool,
    private readonly end: (pool: ProcessPool) => void,
    private readonly max: number,
  ) {}

  /**
   * The pool for a call, made if needed.
   * @param owner absent if users share processes
   * @throws PoolFailure `queue_full` if too many projects or users have calls at once, `shutting_down`
   */
  of(project: string, owner?: Owner): ProcessPool {
    if (project === 'default' && !owner) return this.ofDefault;
    const key = owner ? ownerKey(owner.user, project) : project;
    const known = this.pools.get(key);
    if (known && this.tokens.get(known) === owner?.token) return known;
    if (known) this.remove(key, known);
    return this.open(key, owner);
  }

  /** Ends all pools of a user, because its account has changed. */
  drop(user: string): void {
    // The key without its project's end, `"]`, so that it is the start of the user's keys for all projects.
    const prefix = ownerKey(user, '').slice(0, -2);
    for (const [key, pool] of this.pools) if (key.startsWith(prefix)) this.remove(key, pool);
  }

  /** The pool of a project, if it has one. */
  at(project: string): ProcessPool | undefined {
    return project === 'default' ? this.ofDefault : this.pools.get(project);
  }

  all(): ProcessPool[] {
    return [this.ofDefault, ...this.pools.values()];
  }

  close(): void {
    this.isClosed = true;
  }

  private remove(key: string, pool: ProcessPool): void {
    this.pools.delete(key);
    this.end(pool);
  }

  /** Makes a pool. @throws PoolFailure */
  private open(key: string, owner?: Owner): ProcessPool {
    if (this.isClosed) throw new PoolFailure('shutting_down', 'The tool is stopping');
    if (this.pools.size >= this.max) this.makeRoom();
    if (this.pools.size >= this.max) {
      const why = `${this.max} projects or users use the tool already (CUSTOM_TOOLS_MAX_PROCESSES)`;
      throw new PoolFailure('queue_full', why);
    }
    const pool = this.make(owner);
    this.pools.set(key, pool);
    if (owner?.token !== undefined) this.tokens.set(pool, owner.token);
    pool.events.subscribe((event) => {
      if (event.type === 'terminate' && event.reason === 'idle' && this.pools.get(key) === pool)
        this.endIfUnused(key);
    });
    return pool;
  }

  private endIfUnused(key: string): void {
    const pool = this.pools.get(key);
    if (pool && unusedSince(pool) === 0) this.remove(key, pool);
  }

  /** Ends the pool that has been idle for the longest time, so that one caller cannot hold them all. */
  private makeRoom(): void {
    const unused = [...this.pools].filter(([, pool]) => unusedSince(pool) < Infinity);
    const [longest] = unused.sort(([, a], [, b]) => unusedSince(a) - unusedSince(b));
    if (longest) this.remove(...longest);
  }
}

/** Start of a pool's idle time (`performance.now()`): 0 if it has no process, Infinity if it is busy. */
function unusedSince(pool: ProcessPool): number {
  const { starting, idle, busy, waiting } = pool.stats();
  if (starting + busy + waiting > 0) return Infinity;
  return idle === 0 ? 0 : pool.idleSince;
}

/** A key as JSON, because users and projects may contain any separator. */
const ownerKey = (user: string, project: string): string => JSON.stringify([user, project]);

/** The pool's settings for a tool: its own, within the limits of the server. */
export function poolSettings(
  tool: CustomTool,
  spec: ProcessSpec,
  { customTools: limits, toolInput }: Pick<AppConfig, 'customTools' | 'toolInput'>,
  dialect: Dialect | undefined,
): PoolSettings {
  return {
    ...processLimits(limits, dialect),
    name: tool.name,
    spec,
    // Sessions need a user, so none can start in advance.
    minProcesses: tool.credentials === 'user' || tool.isolation === 'user' ? 0 : tool.minProcesses,
    poolSize: Math.min(tool.poolSize, limits.maxPoolSize),
    keepAlive: tool.keepAlive,
    maxConcurrency: tool.maxConcurrency,
    maxQueue: limits.maxQueue,
    idleTimeoutMs: limits.idleTimeoutMs,
    maxRequests: limits.maxRequestsPerProcess,
    maxAgeMs: limits.maxProcessAgeMs,
    maxRssBytes: tool.sandbox?.maxMemoryMB ? tool.sandbox.maxMemoryMB * 1_048_576 : limits.maxProcessRssBytes,
    cancelGraceMs: limits.cancelGraceMs,
    maxPendingInputBytes: 4 * toolInput.maxBytes,
    maxFailedStarts: Math.max(3, tool.maxRetries),
    // An MCP server may keep state, so its processes are not replaced for age or requests. After an abandoned call it has
    // the timeout of a health check to answer a ping.
    ...(dialect && { maxRequests: 0, maxAgeMs: 0, cancelGraceMs: limits.healthTimeoutMs }),
  };
}
