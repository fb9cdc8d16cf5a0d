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
import { ToolInspector } from './tool-inspector.js';
import { type PreparedTool, ToolLauncher } from './tool-launcher.js';

/** An event of one of the pools, a trial's or a retiring one included. */
export type RuntimeEvent = PoolEvent & { readonly source: ProcessPool };

/** The running side of custom tools: one wrapper and one pool for each that is loaded. */
@Injectable()
export class CustomToolRuntimes {
  private readonly wrappers = new Map<string, CustomToolWrapper>();
  /** Every pool that has not ended: those of trial runs and of replaced configurations included. */
  private readonly pools = new Map<ProcessPool, PreparedTool>();
  private closed = false;
  private readonly budget: ProcessBudget;
  private readonly logger = new Logger(CustomToolRuntimes.name);
  readonly events = new TypedEvents<RuntimeEvent>((error) => this.logger.error(error));

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly inspector: ToolInspector,
    private readonly launcher: ToolLauncher,
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
      const prepared = await this.launcher.prepare(tool);
      const pool = new ProcessPool(this.poolSettings(tool, prepared.command), { budget: this.budget });
      this.pools.set(pool, prepared);
      pool.events.subscribe((event) => {
        if (event.type === 'terminate') prepared.ended(event.pid);
        this.events.emit({ ...event, source: pool });
      });
      return new CustomToolWrapper(tool, validate, { pool, workingDir: prepared.workingDir });
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
      wrapper.backend.pool.warm().catch((error: unknown) => this.logger.warn(error));
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
    await Promise.all([...this.pools.keys()].map((pool) => this.stop(pool, 0)));
  }

  private async stop(pool: ProcessPool, drainMs: number): Promise<void> {
    await pool.stop(drainMs);
    const prepared = this.pools.get(pool);
    this.pools.delete(pool);
    await prepared?.dispose();
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
