import { Inject, Injectable, Logger } from '@nestjs/common';
import { Problem } from '../../common/errors.js';
import { TypedEvents } from '../../common/typed-events.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { Tracer } from '../../observability/tracing/tracer.js';
import type { PoolEvent, PoolSettings, ProcessSpec } from '../../process-pool/pool.types.js';
import { ProcessPool } from '../../process-pool/process-pool.js';
import type { Confined } from '../../sandbox/sandbox.js';
import type { EffectiveSandbox } from '../../sandbox/sandbox.types.js';
import { ToolRegistry } from '../../tools/tool-registry.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolWrapper, type ToolBackend } from './custom-tool-wrapper.js';
import { PoolOutput } from '../logs/pool-output.js';
import { ToolLogs } from '../logs/tool-logs.js';
import { contentHashOf } from '../entity/revision-content.js';
import { asUnavailable } from '../entity/wrong-field.js';
import type { Redactor } from '../secrets/redactor.js';
import type { ProcessEnd } from '../../sandbox/violation.js';
import { ToolSandbox } from '../launch/tool-sandbox.js';
import type { PreparedTool } from '../launch/tool-inspector.js';
import { ToolSpawner } from '../launch/tool-spawner.js';

/** An event of one of the pools, a trial's or a retiring one included; without secrets. Output goes to the logs. */
export type RuntimeEvent = (Exclude<PoolEvent, ToolWords> | Omit<StrayLines, 'line'>) & {
  readonly source: ProcessPool;
};
type StrayLines = Extract<PoolEvent, { type: 'noise' }>;
type ToolWords = StrayLines | { type: 'stderr' } | { type: 'log' };

/** The running side of custom tools: one wrapper and one pool for each that is loaded. */
@Injectable()
export class RunningTools {
  private readonly wrappers = new Map<string, CustomToolWrapper>();
  /** Every pool that has not ended: those of trial runs and of replaced configurations included. */
  private readonly pools = new Map<ProcessPool, { readonly tool: string; readonly confined: Confined }>();
  private closed = false;
  private readonly logger = new Logger(RunningTools.name);
  readonly events = new TypedEvents<RuntimeEvent>((error) => this.logger.error(error));
  /** Names of tools that were deleted, once nobody can call them any more. */
  readonly deletions = new TypedEvents<string>((error) => this.logger.error(error));

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly spawner: ToolSpawner,
    private readonly sandbox: ToolSandbox,
    private readonly logs: ToolLogs,
    private readonly tracer: Tracer,
    private readonly registry: ToolRegistry,
  ) {}

  get(name: string): CustomToolWrapper | undefined {
    return this.wrappers.get(name);
  }

  /** Every wrapper that is loaded. */
  all(): CustomToolWrapper[] {
    return [...this.wrappers.values()];
  }

  /** What holds for a tool's processes; of one that is not loaded, what would hold on this host. */
  effective(tool: CustomTool): EffectiveSandbox {
    const backend = this.wrappers.get(tool.name)?.backend;
    return (backend && 'pool' in backend && backend.effective) || this.sandbox.effective(tool);
  }

  /** Whether any tool, of whatever kind, can be called by this name. */
  isTaken(name: string): boolean {
    return this.registry.find(name) !== undefined;
  }

  /**
   * Builds a wrapper; one that cannot be started stands there with its reason. Nothing is spawned yet.
   * @throws Problem `conflict` when a built-in tool has the name; `shutting_down`
   */
  async build(
    { tool, validate, content, start }: PreparedTool,
    revision: number,
  ): Promise<CustomToolWrapper> {
    if (this.registry.find(tool.name)?.definition.kind === 'builtin') {
      throw new Problem('conflict', `The name ${tool.name} belongs to a built-in tool`);
    }
    const backend = await this.backendOf(tool, start);
    const running = {
      revision,
      contentHash: contentHashOf(content),
      // Nothing runs of files that cannot be started: to whoever looks for changes they are new.
      files: 'pool' in backend ? content.files : [],
      ...('spec' in start && { spec: start.spec }),
    };
    return new CustomToolWrapper(tool, validate, backend, running, this.tracer);
  }

  /** Makes a tool callable. Its earlier wrapper gives way: calls in flight end on that one's own pool. */
  put(wrapper: CustomToolWrapper): void {
    const { name, status, errorMessage } = wrapper.tool;
    this.logs.status(name, status, errorMessage);
    this.release(name);
    this.wrappers.set(name, wrapper);
    if ('pool' in wrapper.backend) wrapper.backend.pool.warm();
    this.registry.replace(wrapper);
  }

  /** Takes a tool out of use, as its row says. */
  disable({ name, status }: CustomTool): void {
    this.logs.status(name, status);
    this.withdraw(name);
  }

  /** Takes a tool out of use for good. */
  delete(name: string): void {
    this.withdraw(name);
    this.logs.forget(name);
    this.deletions.emit(name);
  }

  private withdraw(name: string): void {
    if (this.wrappers.has(name)) this.registry.unregister(name);
    this.release(name);
  }

  private release(name: string): void {
    const wrapper = this.wrappers.get(name);
    this.wrappers.delete(name);
    if (wrapper) void this.retire(wrapper);
  }

  /** Stops a wrapper's pool once its calls have ended, each within its own deadline. */
  async retire({ backend, definition }: CustomToolWrapper): Promise<void> {
    if ('pool' in backend) await this.stop(backend.pool, definition.timeoutMs);
  }

  /** Every pool that has not ended, those that retire included. */
  living(): readonly ProcessPool[] {
    return [...this.pools.keys()];
  }

  /** Resolves when none of the pools that the tool has now is left. */
  async ended(tool: string): Promise<void> {
    const pools = [...this.pools].filter(([, running]) => running.tool === tool);
    await Promise.all(pools.map(([pool]) => pool.ended));
  }

  /** Cuts off what still runs and ends every process; resolves when none is left. Nothing starts afterwards. */
  async stopAll(): Promise<void> {
    this.closed = true;
    this.wrappers.clear();
    await Promise.all([...this.pools.keys()].map((pool) => this.stop(pool, 0)));
  }

  private async backendOf(tool: CustomTool, start: PreparedTool['start']): Promise<ToolBackend> {
    if ('unavailable' in start) return start;
    const { spec, realPath, redactor } = start;
    const confined = await this.sandbox.confine(tool, start).catch(asUnavailable);
    if ('unavailable' in confined) return confined;
    if (this.closed) {
      await confined.dispose();
      // No reason that a tool's row should show.
      throw new Problem('shutting_down', 'The server is stopping');
    }
    const { slots, launch } = this.spawner;
    const pool = new ProcessPool(this.poolSettings(tool, confined.command), slots, launch);
    this.pools.set(pool, { tool: tool.name, confined });
    this.follow(pool, tool.name, redactor);
    pool.events.subscribe((event) => {
      if (event.type === 'terminate') confined.ended(event.pid);
    });
    const brokenRule = (end: ProcessEnd): string | undefined => confined.brokenRule(end);
    const { effective } = confined;
    return { pool, workingDir: spec.cwd, realPath, redactor, effective, brokenRule };
  }

  private follow(pool: ProcessPool, tool: string, redactor: Redactor): void {
    const output = new PoolOutput(this.logs.open(tool), redactor);
    pool.events.subscribe((event) => {
      output.on(event);
      if (event.type === 'stderr' || event.type === 'log') return;
      if (event.type === 'noise') return this.strayLines(event, pool);
      this.events.emit({ ...withoutSecrets(event, redactor), source: pool });
    });
  }

  /** There may be thousands: no text is looked through for those who only count. */
  private strayLines({ type, pool, pid, lines }: StrayLines, source: ProcessPool): void {
    this.events.emit({ type, pool, pid, lines, source });
  }

  private async stop(pool: ProcessPool, drainMs: number): Promise<void> {
    await pool.stop(drainMs);
    const running = this.pools.get(pool);
    this.pools.delete(pool);
    await running?.confined.dispose();
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
      maxRequests: limits.maxRequestsPerProcess,
      maxAgeMs: limits.maxProcessAgeMs,
      maxRssBytes: tool.sandbox?.maxMemoryMB
        ? tool.sandbox.maxMemoryMB * 1_048_576
        : limits.maxProcessRssBytes,
      startTimeoutMs: limits.startTimeoutMs,
      stopGraceMs: limits.stopGraceMs,
      cancelGraceMs: limits.cancelGraceMs,
      maxLineBytes: limits.maxOutputBytes,
      linesPerSecond: limits.outputLinesPerSecond,
      maxPendingInputBytes: 4 * this.config.toolInput.maxBytes,
      stderrBytes: limits.stderrBytes,
      maxFailedStarts: Math.max(3, tool.maxRetries),
    };
  }
}

function withoutSecrets<E extends PoolEvent>(event: E, redactor: Redactor): E {
  switch (event.type) {
    case 'start_failed':
    case 'failed':
      return { ...event, error: redactor.clean(event.error) };
    case 'terminate':
      return { ...event, stderrTail: redactor.clean(event.stderrTail, { start: true }) };
    default:
      return event;
  }
}
