import { Inject, Injectable, Logger } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import { TypedEvents } from '../common/typed-events.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { ProcessMetrics } from '../observability/process-metrics.js';
import { ProcessBudget } from '../process-pool/process-budget.js';
import type { PoolEvent, PoolSettings, ProcessSpec } from '../process-pool/pool.types.js';
import { ProcessPool } from '../process-pool/process-pool.js';
import { residentBytes } from '../process-pool/resident-memory.js';
import type { CustomTool } from './custom-tool.entity.js';
import { CustomToolWrapper } from './custom-tool-wrapper.js';
import { PoolOutput } from './logs/pool-output.js';
import { ToolLogs } from './logs/tool-logs.js';
import type { Redactor } from './secrets/redactor.js';
import { ToolInspector } from './tool-inspector.js';
import { ToolLaunches } from './tool-launches.js';

/** An event of one of the pools, a trial's or a retiring one included; without secrets. Output goes to the logs. */
export type RuntimeEvent = Exclude<PoolEvent, { type: 'stderr' }> & { readonly source: ProcessPool };

/** The running side of custom tools: one wrapper and one pool for each that is loaded. */
@Injectable()
export class CustomToolRuntimes {
  private readonly wrappers = new Map<string, CustomToolWrapper>();
  /** Every pool that has not ended: those of trial runs and of replaced configurations included. */
  private readonly pools = new Set<ProcessPool>();
  private closed = false;
  private readonly budget: ProcessBudget;
  private readonly logger = new Logger(CustomToolRuntimes.name);
  readonly events = new TypedEvents<RuntimeEvent>((error) => this.logger.error(error));

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly inspector: ToolInspector,
    private readonly launches: ToolLaunches,
    private readonly logs: ToolLogs,
    metrics: ProcessMetrics,
  ) {
    this.budget = new ProcessBudget(config.customTools.maxProcesses);
    metrics.observe(() => this.observations());
  }

  get(name: string): CustomToolWrapper | undefined {
    return this.wrappers.get(name);
  }

  /** Builds a wrapper; one that cannot be started stands there with its reason. Nothing is spawned yet. */
  async build(tool: CustomTool): Promise<CustomToolWrapper> {
    const validate = this.inspector.compile(tool.inputSchema);
    if (this.closed) return new CustomToolWrapper(tool, validate, { unavailable: 'the server is stopping' });
    try {
      const { spec, realPath, redactor } = await this.launches.prepare(tool);
      const pool = new ProcessPool(this.poolSettings(tool, spec), { budget: this.budget });
      this.pools.add(pool);
      this.follow(pool, tool.name, redactor);
      return new CustomToolWrapper(tool, validate, { pool, workingDir: spec.cwd, realPath, redactor });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return new CustomToolWrapper(tool, validate, { unavailable: error.detail });
    }
  }

  /** Takes the place of the tool's earlier wrapper, whose calls in flight end on its own pool. */
  put(wrapper: CustomToolWrapper): void {
    this.remove(wrapper.definition.name);
    this.wrappers.set(wrapper.definition.name, wrapper);
    if ('pool' in wrapper.backend) {
      const { pool, redactor } = wrapper.backend;
      pool.warm().catch((error: Error) => this.logger.warn(redactor.clean(error.message)));
    }
  }

  remove(name: string): void {
    const wrapper = this.wrappers.get(name);
    this.wrappers.delete(name);
    if (wrapper) void this.retire(wrapper);
  }

  /** Stops a wrapper's pool once its calls have ended, each within its own deadline. */
  async retire({ backend, definition }: CustomToolWrapper): Promise<void> {
    if ('pool' in backend) await this.stop(backend.pool, definition.timeoutMs);
  }

  /** Cuts off what still runs and ends every process; resolves when none is left. Nothing starts afterwards. */
  async stopAll(): Promise<void> {
    this.closed = true;
    this.wrappers.clear();
    await Promise.all([...this.pools].map((pool) => this.stop(pool, 0)));
  }

  private follow(pool: ProcessPool, tool: string, redactor: Redactor): void {
    const output = new PoolOutput(this.logs.open(tool), redactor);
    pool.events.subscribe((event) => {
      output.on(event);
      if (event.type !== 'stderr') this.events.emit({ ...withoutSecrets(event, redactor), source: pool });
    });
  }

  private async stop(pool: ProcessPool, drainMs: number): Promise<void> {
    await pool.stop(drainMs);
    this.pools.delete(pool);
  }

  private poolSettings(tool: CustomTool, spec: ProcessSpec): PoolSettings {
    const limits = this.config.customTools;
    return {
      name: tool.name,
      spec,
      minProcesses: tool.minProcesses,
      poolSize: Math.min(tool.poolSize, limits.maxPoolSize),
      keepAlive: tool.keepAlive,
      maxConcurrency: tool.maxConcurrency,
      maxQueue: limits.maxQueue,
      idleTimeoutMs: limits.idleTimeoutMs,
      startTimeoutMs: limits.startTimeoutMs,
      stopGraceMs: limits.stopGraceMs,
      maxLineBytes: limits.maxOutputBytes,
      maxPendingInputBytes: 4 * this.config.toolInput.maxBytes,
      stderrBytes: limits.stderrBytes,
      maxFailedStarts: Math.max(3, tool.maxRetries),
    };
  }

  private *observations() {
    for (const [tool, { backend }] of this.wrappers) {
      if (!('pool' in backend)) continue;
      const { starting, idle, busy, pids } = backend.pool.stats();
      const rssBytes = pids.reduce((sum, pid) => sum + (residentBytes(pid) ?? 0), 0);
      yield { tool, starting, idle, busy, rssBytes };
    }
  }
}

function withoutSecrets<E extends PoolEvent>(event: E, redactor: Redactor): E {
  switch (event.type) {
    case 'start_failed':
    case 'failed':
      return { ...event, error: redactor.clean(event.error) };
    case 'terminate':
      return { ...event, stderrTail: redactor.clean(event.stderrTail, { start: true }) };
    case 'noise':
      return { ...event, line: redactor.clean(event.line, { end: true }) };
    default:
      return event;
  }
}
