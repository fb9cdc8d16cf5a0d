import { Inject, Injectable, Logger } from '@nestjs/common';
import { Problem } from '../../common/errors.js';
import { TypedEvents } from '../../common/typed-events.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { Tracer } from '../../observability/tracing/tracer.js';
import type { PoolEvent, PoolSettings, ProcessSpec } from '../../process-pool/pool.types.js';
import { ProcessPool } from '../../process-pool/process-pool.js';
import type { Confined } from '../../sandbox/sandbox.js';
import type { EffectiveSandbox } from '../../sandbox/sandbox.types.js';
import type { InputValidator } from '../../tools/input-validator.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolWrapper, type ToolBackend } from './custom-tool-wrapper.js';
import { PoolOutput } from '../logs/pool-output.js';
import { ToolLogs } from '../logs/tool-logs.js';
import { ProgramFiles } from '../launch/program-files.js';
import type { ProgramFile } from '../entity/tool-revision.entity.js';
import { configurationOf, contentHashOf, type RevisionContent } from '../entity/revision-content.js';
import type { Redactor } from '../secrets/redactor.js';
import type { ProcessEnd } from '../../sandbox/violation.js';
import { ToolSandbox } from '../launch/tool-sandbox.js';
import { type PreparedLaunch, LaunchPreparation } from '../launch/launch-preparation.js';
import { ToolSpawner } from '../launch/tool-spawner.js';

/** An event of one of the pools, a trial's or a retiring one included; without secrets. Output goes to the logs. */
export type RuntimeEvent = (Exclude<PoolEvent, ToolWords> | Omit<StrayLines, 'line'>) & {
  readonly source: ProcessPool;
};
type StrayLines = Extract<PoolEvent, { type: 'noise' }>;
type ToolWords = StrayLines | { type: 'stderr' } | { type: 'log' };

/** A tool as it would run here. */
export interface PreparedTool {
  readonly tool: CustomTool;
  readonly validate: InputValidator;
  readonly content: RevisionContent;
  readonly start: PreparedLaunch | { readonly unavailable: string };
}

/** The running side of custom tools: one wrapper and one pool for each that is loaded. */
@Injectable()
export class CustomToolRuntimes {
  private readonly wrappers = new Map<string, CustomToolWrapper>();
  /** Every pool that has not ended: those of trial runs and of replaced configurations included. */
  private readonly pools = new Map<ProcessPool, { readonly tool: string; readonly confined: Confined }>();
  private closed = false;
  private readonly programFiles: ProgramFiles;
  private readonly logger = new Logger(CustomToolRuntimes.name);
  readonly events = new TypedEvents<RuntimeEvent>((error) => this.logger.error(error));

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly spawner: ToolSpawner,
    private readonly preparation: LaunchPreparation,
    private readonly sandbox: ToolSandbox,
    private readonly logs: ToolLogs,
    private readonly tracer: Tracer,
  ) {
    this.programFiles = new ProgramFiles(config.root, config.customTools.dir);
  }

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

  /**
   * Finds out what would run, without starting anything.
   * @param launch of a tool whose launch has been prepared before
   */
  async prepare(tool: CustomTool, validate: InputValidator, launch?: PreparedLaunch): Promise<PreparedTool> {
    return { tool, validate, ...(await this.contentOf(tool, launch)) };
  }

  /** What a revision of the tool would hold, and how it would be started. */
  async contentOf(
    tool: CustomTool,
    launch?: PreparedLaunch,
  ): Promise<Pick<PreparedTool, 'content' | 'start'>> {
    const { files, start } = await this.program(tool, launch);
    return { content: { configuration: configurationOf(tool), env: tool.env, files }, start };
  }

  /** The files of a tool's program as they are now. */
  async filesOf({ tool, running: { spec } }: CustomToolWrapper): Promise<readonly ProgramFile[]> {
    return spec ? this.programFiles.of(spec) : (await this.program(tool)).files;
  }

  /** Builds a wrapper; one that cannot be started stands there with its reason. Nothing is spawned yet. */
  async build(
    { tool, validate, content, start }: PreparedTool,
    revision: number,
  ): Promise<CustomToolWrapper> {
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

  /** Takes the place of the tool's earlier wrapper, whose calls in flight end on its own pool. */
  put(wrapper: CustomToolWrapper): void {
    this.remove(wrapper.definition.name);
    this.wrappers.set(wrapper.definition.name, wrapper);
    if ('pool' in wrapper.backend) wrapper.backend.pool.warm();
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

  private async program(
    tool: CustomTool,
    launch?: PreparedLaunch,
  ): Promise<Pick<PreparedTool, 'start'> & { files: ProgramFile[] }> {
    try {
      const start = launch ?? (await this.preparation.prepare(tool));
      return { files: await this.programFiles.of(start.spec), start };
    } catch (error) {
      return { files: [], start: asUnavailable(error) };
    }
  }

  private async backendOf(tool: CustomTool, start: PreparedTool['start']): Promise<ToolBackend> {
    if ('unavailable' in start) return start;
    const { spec, realPath, redactor } = start;
    const confined = await this.sandbox.confine(tool, start).catch(asUnavailable);
    if ('unavailable' in confined) return confined;
    if (this.closed) {
      await confined.dispose();
      return { unavailable: 'the server is stopping' };
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

function asUnavailable(error: unknown): { readonly unavailable: string } {
  if (!(error instanceof Problem)) throw error;
  return { unavailable: error.detail };
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
