import { Inject, Injectable, Logger } from '@nestjs/common';
import { Problem } from '../../../base/common/errors.js';
import { TypedEvents } from '../../../base/common/typed-events.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { Tracer } from '../../../base/observability/tracing/tracer.js';
import { ToolRegistry } from '../../../call/door/tool-registry.js';
import type { Tool } from '../../../web/contract/tool.js';
import { McpListing } from '../../mcp-client/mcp-review.js';
import type { Handshake, PoolEvent } from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import { PoolFactory } from '../../process-pool/process-pool.module.js';
import type { Confined } from '../../sandbox/sandbox.js';
import type { EffectiveSandbox } from '../../sandbox/sandbox.types.js';
import { cleanEvent, type Redactor } from '../../secrets/redactor.js';
import { withToken } from '../accounts/process-token.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { processHashOf, type RevisionContent } from '../entity/revision-content.js';
import { asUnavailable, ToolSandbox } from '../launch/launch-preparation.js';
import type { ToolPlan } from '../launch/tool-inspector.js';
import { PoolOutput } from '../logs/pool-output.js';
import { type LogBook, ToolLogs } from '../logs/tool-logs.js';
import { CustomToolWrapper, runningRevision } from './custom-tool-wrapper.js';
import { McpServerWrapper } from './mcp-server-wrapper.js';
import { namesOf, OfferedTools } from './offered-tools.js';
import {
  type Owner,
  ownersOf,
  poolSettings,
  poolsOf,
  ProjectPools,
  type ToolBackend,
} from './tool-backend.js';

/** An event of one of the pools, a dry run's or a retiring one included; without secrets. Output goes to the logs. */
export type RuntimeEvent = (Exclude<PoolEvent, ToolWords> | Omit<StrayLines, 'line'>) & {
  readonly source: ProcessPool;
};
type StrayLines = Extract<PoolEvent, { type: 'unparsed' }>;
type ToolWords = StrayLines | { type: 'stderr' } | { type: 'log' } | { type: 'listed' | 'updated' };

/** The running side of custom tools: one wrapper and one pool for each that is loaded. */
@Injectable()
export class RunningTools {
  private readonly wrappers = new Map<string, CustomToolWrapper>();
  /** Every pool that has not ended: those of dry runs and of replaced configurations included. */
  private readonly pools = new Map<ProcessPool, { readonly tool: string; readonly confined: Confined }>();
  /** Registered tools by custom tool, loaded or not. */
  readonly offered: OfferedTools;
  private closed = false;
  private readonly logger = new Logger(RunningTools.name);
  readonly events = new TypedEvents<RuntimeEvent>((error) => this.logger.error(error));
  /** Emits the names of deleted tools, after their last call. */
  readonly deletions = new TypedEvents<string>((error) => this.logger.error(error));

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly factory: PoolFactory,
    private readonly sandbox: ToolSandbox,
    private readonly logs: ToolLogs,
    private readonly tracer: Tracer,
    private readonly registry: ToolRegistry,
  ) {
    this.offered = new OfferedTools(registry);
  }

  get(name: string): CustomToolWrapper | undefined {
    return this.wrappers.get(name);
  }

  /** Every wrapper that is loaded. */
  all(): CustomToolWrapper[] {
    return [...this.wrappers.values()];
  }

  /** Returns a loaded MCP server, which knows its tools and which of them can be called. */
  server(name: string): McpServerWrapper | undefined {
    const wrapper = this.wrappers.get(name);
    return wrapper instanceof McpServerWrapper ? wrapper : undefined;
  }

  /** Whether a tool is listed and not loaded yet. */
  awaits(name: string): boolean {
    return this.offered.byTool.has(name) && !this.wrappers.has(name);
  }

  /** For `/startupz`. */
  progress(): string {
    return `loaded ${this.wrappers.size} of ${this.offered.byTool.size} tools`;
  }

  /**
   * The sandbox of a tool's processes; for a tool that is not loaded, the one that this host would give.
   * @param wrapper absent: the one that is loaded
   */
  effective(tool: CustomTool, wrapper = this.wrappers.get(tool.name)): EffectiveSandbox {
    const backend = wrapper?.backend;
    return backend && 'pool' in backend ? backend.confined.effective : this.sandbox.effective(tool);
  }

  /** Whether a tool of any kind has this name. */
  isTaken(name: string): boolean {
    return this.registry.find(name) !== undefined;
  }

  /**
   * Creates a wrapper, which holds the reason if the tool cannot be started. Spawns nothing yet.
   * @param apart it has processes of its own, which write into this log, or the tool's
   * @throws Problem `conflict` if a tool of another kind has the name; `shutting_down`
   */
  async build(
    plan: ToolPlan,
    revision: number,
    apart?: { readonly book?: LogBook },
  ): Promise<CustomToolWrapper> {
    const { tool, validate, validators, content, start } = plan;
    const holder = this.registry.find(tool.name)?.definition.kind ?? 'custom';
    if (holder !== 'custom') {
      const whose = holder === 'builtin' ? 'a built-in tool' : 'a tool of an MCP server';
      throw new Problem('conflict', `The name ${tool.name} belongs to ${whose}`);
    }
    const shared = apart ? undefined : this.sharedBackend(tool, content);
    const backend = shared ?? (await this.backendOf(plan, apart?.book));
    const running = runningRevision(revision, content, start, 'pool' in backend);
    return tool.protocol === 'mcp'
      ? new McpServerWrapper(tool, validators, backend, running, this.tracer, (each) =>
          this.changed(this.wrappers.get(tool.name), each),
        )
      : new CustomToolWrapper(tool, validate, backend, running, this.tracer);
  }

  /** Makes a tool callable. Its earlier wrapper gives way: calls in flight end on that one's own pool. */
  put(wrapper: CustomToolWrapper): void {
    const { name, status, errorMessage } = wrapper.tool;
    this.logs.status(name, status, errorMessage);
    const before = this.wrappers.get(name);
    this.wrappers.set(name, wrapper);
    if (before && before.backend !== wrapper.backend) void this.retire(before);
    if ('pool' in wrapper.backend && !wrapper.backend.ownerOf) wrapper.backend.pool.warm();
    this.offered.put(name, wrapper.offered());
    if (wrapper instanceof McpServerWrapper) this.registry.putServer(wrapper.session);
    this.warn(wrapper);
  }

  /** Disables a tool. */
  disable(tool: CustomTool): void {
    this.logs.status(tool.name, tool.status);
    this.withdraw(tool.name);
    this.registry.disabled.set(tool.name, namesOf(tool));
  }

  /** Takes a tool out of use for good. */
  delete(name: string): void {
    const offered = this.offered.namesOf(name);
    this.withdraw(name);
    this.registry.disabled.delete(name);
    this.logs.forget(name);
    for (const each of new Set([name, ...offered])) this.deletions.emit(each);
  }

  /** Takes away what a tool offers; calls in flight end. */
  withdraw(name: string): void {
    this.offered.delete(name);
    this.registry.deleteServer(name);
    const wrapper = this.wrappers.get(name);
    this.wrappers.delete(name);
    if (wrapper) void this.retire(wrapper);
  }

  /** Stops a wrapper's pool once its calls have ended, each within its own deadline. */
  async retire({ backend, definition }: CustomToolWrapper): Promise<void> {
    if ('projects' in backend) backend.projects?.close();
    await Promise.all(poolsOf(backend).map((pool) => this.stop(pool, definition.timeoutMs)));
  }

  /** The pools that the tool has now: not a dry run's, nor those of a replaced configuration. */
  poolsOf(tool: string): readonly ProcessPool[] {
    return poolsOf(this.wrappers.get(tool)?.backend);
  }

  /** Ends the sessions of a user of a server, whose account is another one now. */
  dropUser(tool: string, user: string): void {
    const backend = this.wrappers.get(tool)?.backend;
    if (backend && 'projects' in backend) backend.projects?.drop(user);
  }

  /** A text without the values of the tool's environment. */
  clean(tool: string, text: string): string {
    return this.wrappers.get(tool)?.clean(text) ?? text;
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

  /** Keeps the processes if only approvals or an order change, because they may hold state. */
  private sharedBackend(tool: CustomTool, content: RevisionContent): ToolBackend | undefined {
    const running = this.wrappers.get(tool.name);
    const isSame =
      running?.tool.id === tool.id &&
      'pool' in running.backend &&
      !running.backend.pool.lastStartFailed &&
      running.running.processHash === processHashOf(content);
    return isSame ? running.backend : undefined;
  }

  private async backendOf({ tool, start, handshake }: ToolPlan, book?: LogBook): Promise<ToolBackend> {
    if ('unavailable' in start) return start;
    const { spec, realPath, redactor, dialect } = start;
    const confined = await this.sandbox.confine(tool, start).catch(asUnavailable);
    if ('unavailable' in confined) return confined;
    if (this.closed) {
      await confined.dispose();
      // No reason that a tool's row should show.
      throw new Problem('shutting_down', 'The server is stopping');
    }
    const settings = poolSettings(tool, confined.command, this.config, dialect);
    const { accounts, remote, remoteFor } = start;
    const isPersonal = accounts !== undefined || tool.isolation === 'user';
    const listing = dialect && new McpListing(handshake, accounts !== undefined);
    const make = (minProcesses: number, owner?: Owner): ProcessPool => {
      const own = { ...settings, minProcesses, ...withToken(settings.spec, owner?.token) };
      const pool = this.factory.create(own, (owner && remoteFor?.(owner.user)) ?? remote);
      this.pools.set(pool, { tool: tool.name, confined });
      pool.events.subscribe((event) => event.type === 'terminate' && confined.ended(event.pid));
      this.follow(pool, new PoolOutput(book ?? this.logs.open(tool.name), redactor), redactor, listing);
      return pool;
    };
    const pool = make(settings.minProcesses);
    const end = (each: ProcessPool): void => void this.stop(each, tool.timeoutMs);
    return {
      pool,
      workingDir: spec.cwd,
      realPath,
      redactor,
      confined,
      ...(listing && { listing }),
      ...(accounts && { accounts }),
      ...(isPersonal && { ownerOf: ownersOf(tool.name, accounts) }),
      ...((isPersonal || tool.isolation === 'project') && {
        projects: new ProjectPools(
          pool,
          (owner) => make(0, owner),
          end,
          this.config.customTools.maxProcesses,
        ),
      }),
    };
  }

  private follow(pool: ProcessPool, output: PoolOutput, redactor: Redactor, listing?: McpListing): void {
    pool.events.subscribe((event) => {
      output.on(event);
      if (event.type === 'stderr' || event.type === 'log') return;
      if (event.type === 'listed') {
        const handshake = redactor.cleanJson(event.handshake, { names: false }) as Handshake;
        return listing?.take(handshake, pool) ? this.listed(event.pool, listing) : undefined;
      }
      if (event.type === 'updated') return this.registry.updates.emit({ server: event.pool, uri: event.uri });
      if (event.type === 'unparsed') {
        // Noise events are frequent: counts are forwarded without redacting the text.
        const { line: _unread, ...counted } = event;
        return this.events.emit({ ...counted, source: pool });
      }
      // A session that one account cannot begin says nothing about the server.
      if (event.type === 'failed' && listing?.isPersonal) return;
      this.events.emit({ ...cleanEvent(event, redactor), source: pool });
    });
  }

  /** Called before any call reaches the process that lists them. */
  private listed(name: string, listing: McpListing): void {
    const wrapper = this.wrappers.get(name);
    if (!(wrapper instanceof McpServerWrapper) || wrapper.listing !== listing) return;
    const before = String(wrapper.warnings());
    wrapper.refresh();
    this.offered.put(name, wrapper.offered());
    this.registry.offers.emit();
    if (String(wrapper.warnings()) !== before) this.warn(wrapper);
  }

  private changed(wrapper: CustomToolWrapper | undefined, tool: Tool): void {
    if (!wrapper?.offered().includes(tool)) return;
    this.registry.exchange([], [tool]);
    this.warn(wrapper);
  }

  private warn(wrapper: CustomToolWrapper): void {
    const { name } = wrapper.tool;
    for (const message of wrapper.warnings()) {
      this.logs.append({ tool: name, level: 'warn', event: 'health', message });
      this.logger.warn(message);
    }
  }

  private async stop(pool: ProcessPool, drainMs: number): Promise<void> {
    await pool.stop(drainMs);
    const running = this.pools.get(pool);
    this.pools.delete(pool);
    // The pools of a tool's projects share their sandbox.
    const isShared = [...this.pools.values()].some(({ confined }) => confined === running?.confined);
    if (!isShared) await running?.confined.dispose();
  }
}
