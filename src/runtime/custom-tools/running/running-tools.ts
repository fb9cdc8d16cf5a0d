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
import { asUnavailable } from '../launch/launch-preparation.js';
import type { ToolPlan } from '../launch/tool-inspector.js';
import { ToolSandbox } from '../launch/tool-sandbox.js';
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
  SeparatePools,
  type ToolBackend,
} from './tool-backend.js';

type UnparsedEvent = Extract<PoolEvent, { type: 'unparsed' }>;
/** Events with texts of the tool, or about the lists of an MCP server. They are handled here. */
type HandledEvent = UnparsedEvent | { type: 'stderr' } | { type: 'log' } | { type: 'listed' | 'updated' };

/** An event of any pool, including those of dry runs and of replaced configurations. Redacted, and without output. */
export type RuntimeEvent = (Exclude<PoolEvent, HandledEvent> | Omit<UnparsedEvent, 'line'>) & {
  readonly source: ProcessPool;
};

/** The loaded custom tools, each with its wrapper and its pools. */
@Injectable()
export class RunningTools {
  private readonly wrappers = new Map<string, CustomToolWrapper>();
  /** All pools that have not ended, including those of dry runs and of replaced configurations. */
  private readonly pools = new Map<ProcessPool, { readonly tool: string; readonly confined: Confined }>();
  /** Registered tools by custom tool, loaded or not. */
  readonly offered: OfferedTools;
  /** Whether all tools were stopped, so that none starts any more. */
  private isClosed = false;
  private readonly logger = new Logger(RunningTools.name);
  /** Emits the events of all pools. */
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

  /** The loaded tool of this name. */
  get(name: string): CustomToolWrapper | undefined {
    return this.wrappers.get(name);
  }

  all(): CustomToolWrapper[] {
    return [...this.wrappers.values()];
  }

  /** The loaded MCP server of this name; undefined if it is a single tool or not loaded. */
  server(name: string): McpServerWrapper | undefined {
    const wrapper = this.wrappers.get(name);
    return wrapper instanceof McpServerWrapper ? wrapper : undefined;
  }

  /** Whether a tool is listed but not loaded yet. */
  awaits(name: string): boolean {
    return this.offered.byTool.has(name) && !this.wrappers.has(name);
  }

  /** The progress of loading, as `/startupz` shows it. */
  progress(): string {
    return `loaded ${this.wrappers.size} of ${this.offered.byTool.size} tools`;
  }

  /**
   * The sandbox of a tool's processes, or the one that it would get if it is not running.
   * @param wrapper default: the loaded one
   */
  effective(tool: CustomTool, wrapper = this.wrappers.get(tool.name)): EffectiveSandbox {
    const backend = wrapper?.backend;
    return backend && 'pool' in backend ? backend.confined.effective : this.sandbox.effective(tool);
  }

  /**
   * Creates a wrapper, which holds the reason if the tool cannot be started. Starts no process yet.
   * @param separate if present, the wrapper does not share running processes; they write into `book`, or the tool's log
   * @throws Problem `conflict` if a tool of another kind has the name; `shutting_down`
   */
  async build(
    plan: ToolPlan,
    revision: number,
    separate?: { readonly book?: LogBook },
  ): Promise<CustomToolWrapper> {
    const { tool, validate, validators, content, start } = plan;
    const holder = this.registry.find(tool.name)?.definition.kind ?? 'custom';
    if (holder !== 'custom') {
      const whose = holder === 'builtin' ? 'a built-in tool' : 'a tool of an MCP server';
      throw new Problem('conflict', `The name ${tool.name} belongs to ${whose}`);
    }
    const present = separate ? undefined : this.reusableBackend(tool, content);
    const backend = present ?? (await this.createBackend(plan, separate?.book));
    const running = runningRevision(revision, content, start, 'pool' in backend);
    return tool.protocol === 'mcp'
      ? new McpServerWrapper(tool, validators, backend, running, this.tracer, (each) =>
          this.onToolChanged(this.wrappers.get(tool.name), each),
        )
      : new CustomToolWrapper(tool, validate, backend, running, this.tracer);
  }

  /** Makes a tool callable and retires its earlier wrapper, whose calls in flight end on its own pool. */
  put(wrapper: CustomToolWrapper): void {
    const { name, status, errorMessage } = wrapper.tool;
    this.logs.logStatus(name, status, errorMessage);
    const before = this.wrappers.get(name);
    this.wrappers.set(name, wrapper);
    if (before && before.backend !== wrapper.backend) void this.retire(before);
    if ('pool' in wrapper.backend && !wrapper.backend.ownerOf) wrapper.backend.pool.warm();
    this.offered.put(name, wrapper.offered());
    if (wrapper instanceof McpServerWrapper) this.registry.putServer(wrapper.session);
    this.logWarnings(wrapper);
  }

  disable(tool: CustomTool): void {
    this.logs.logStatus(tool.name, tool.status);
    this.withdraw(tool.name);
    this.registry.disabled.set(tool.name, namesOf(tool));
  }

  /** Removes a deleted tool, its log included, and emits the names that it offered. */
  delete(name: string): void {
    const offered = this.offered.namesOf(name);
    this.withdraw(name);
    this.registry.disabled.delete(name);
    this.logs.forget(name);
    for (const each of new Set([name, ...offered])) this.deletions.emit(each);
  }

  /** Unlists a tool and retires its wrapper; calls in flight may end. */
  withdraw(name: string): void {
    this.offered.delete(name);
    this.registry.deleteServer(name);
    const wrapper = this.wrappers.get(name);
    this.wrappers.delete(name);
    if (wrapper) void this.retire(wrapper);
  }

  /** Stops a wrapper's pool once its calls have ended, each within its own deadline. */
  async retire({ backend, definition }: CustomToolWrapper): Promise<void> {
    if ('separate' in backend) backend.separate?.close();
    await Promise.all(poolsOf(backend).map((pool) => this.stop(pool, definition.timeoutMs)));
  }

  /** The tool's present pools, without those of dry runs and of replaced configurations. */
  poolsOf(tool: string): readonly ProcessPool[] {
    return poolsOf(this.wrappers.get(tool)?.backend);
  }

  /** Ends a user's sessions with a server, because the account has changed. */
  dropUser(tool: string, user: string): void {
    const backend = this.wrappers.get(tool)?.backend;
    if (backend && 'separate' in backend) backend.separate?.drop(user);
  }

  /** Redacts the values of a tool's environment in a text; returns it unchanged if the tool is not loaded. */
  clean(tool: string, text: string): string {
    return this.wrappers.get(tool)?.clean(text) ?? text;
  }

  /** All pools that have not ended, including retiring ones. */
  living(): readonly ProcessPool[] {
    return [...this.pools.keys()];
  }

  /** Resolves when all present pools of the tool have ended. */
  async whenEnded(tool: string): Promise<void> {
    const pools = [...this.pools].filter(([, running]) => running.tool === tool);
    await Promise.all(pools.map(([pool]) => pool.ended));
  }

  /** Cuts off all calls and ends all processes; resolves when none is left. Nothing starts afterwards. */
  async stopAll(): Promise<void> {
    this.isClosed = true;
    this.wrappers.clear();
    await Promise.all([...this.pools.keys()].map((pool) => this.stop(pool, 0)));
  }

  /** The running backend, if only approvals or the order of members have changed: its processes may hold state. */
  private reusableBackend(tool: CustomTool, content: RevisionContent): ToolBackend | undefined {
    const running = this.wrappers.get(tool.name);
    const isSame =
      running?.tool.id === tool.id &&
      'pool' in running.backend &&
      !running.backend.pool.lastStartFailed &&
      running.running.processHash === processHashOf(content);
    return isSame ? running.backend : undefined;
  }

  /** Confines the tool and creates its first pool; further pools are created at calls of other projects or users. */
  private async createBackend({ tool, start, handshake }: ToolPlan, book?: LogBook): Promise<ToolBackend> {
    if ('unavailable' in start) return start;
    const { spec, realPath, redactor, dialect } = start;
    const confined = await this.sandbox.confine(tool, start).catch(asUnavailable);
    if ('unavailable' in confined) return confined;
    if (this.isClosed) {
      await confined.dispose();
      // Thrown, so that the tool's row does not show it as the tool's error.
      throw new Problem('shutting_down', 'The server is stopping');
    }
    const settings = poolSettings(tool, confined.command, this.config, dialect);
    const { accounts, remote, remoteFor } = start;
    const isPersonal = accounts !== undefined || tool.isolation === 'user';
    const listing = dialect && new McpListing(handshake, accounts !== undefined);
    const createPool = (minProcesses: number, owner?: Owner): ProcessPool => {
      const token = owner?.token;
      const withOwnToken = token === undefined ? {} : withToken(settings.spec, token);
      const ownSettings = { ...settings, minProcesses, ...withOwnToken };
      const pool = this.factory.create(ownSettings, (owner && remoteFor?.(owner.user)) ?? remote);
      this.pools.set(pool, { tool: tool.name, confined });
      this.follow(pool, new PoolOutput(book ?? this.logs.open(tool.name), redactor), redactor, listing);
      return pool;
    };
    const pool = createPool(settings.minProcesses);
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
        separate: new SeparatePools(
          pool,
          (owner) => createPool(0, owner),
          end,
          this.config.customTools.maxProcesses,
        ),
      }),
    };
  }

  /** Passes a pool's events on: ends to its sandbox, output to its log, lists to the registry, others to `events`. */
  private follow(pool: ProcessPool, output: PoolOutput, redactor: Redactor, listing?: McpListing): void {
    pool.events.subscribe((event) => {
      if (event.type === 'terminate') this.pools.get(pool)?.confined.ended(event.pid);
      output.on(event);
      if (event.type === 'stderr' || event.type === 'log') return;
      if (event.type === 'listed') {
        const handshake = redactor.cleanJson(event.handshake, { names: false }) as Handshake;
        if (listing?.take(handshake, pool)) this.onListed(event.pool, listing);
        return;
      }
      if (event.type === 'updated') return this.registry.updates.emit({ server: event.pool, uri: event.uri });
      if (event.type === 'unparsed') {
        // Noise events are frequent: counts are forwarded without redacting the text.
        const { line: _unread, ...counted } = event;
        return this.events.emit({ ...counted, source: pool });
      }
      // One account that cannot begin a session is no failure of the server.
      if (event.type === 'failed' && listing?.isPersonal) return;
      this.events.emit({ ...cleanEvent(event, redactor), source: pool });
    });
  }

  /** Reviews a server's tools again. Runs before any call reaches the process that listed them. */
  private onListed(name: string, listing: McpListing): void {
    const wrapper = this.wrappers.get(name);
    if (!(wrapper instanceof McpServerWrapper) || wrapper.listing !== listing) return;
    const warningsBefore = String(wrapper.warnings());
    wrapper.refresh();
    this.offered.put(name, wrapper.offered());
    this.registry.offers.emit();
    if (String(wrapper.warnings()) !== warningsBefore) this.logWarnings(wrapper);
  }

  /** Lists a tool again, because its definition has changed. */
  private onToolChanged(wrapper: CustomToolWrapper | undefined, tool: Tool): void {
    if (!wrapper?.offered().includes(tool)) return;
    this.registry.exchange([], [tool]);
    this.logWarnings(wrapper);
  }

  /** Writes a tool's warnings to both logs. */
  private logWarnings(wrapper: CustomToolWrapper): void {
    const { name } = wrapper.tool;
    for (const message of wrapper.warnings()) {
      this.logs.append({ tool: name, level: 'warn', event: 'health', message });
      this.logger.warn(message);
    }
  }

  /** Stops a pool, and ends its sandbox if no other pool shares it. */
  private async stop(pool: ProcessPool, drainMs: number): Promise<void> {
    await pool.stop(drainMs);
    const running = this.pools.get(pool);
    this.pools.delete(pool);
    // The pools of a tool's projects share their sandbox.
    const isShared = [...this.pools.values()].some(({ confined }) => confined === running?.confined);
    if (!isShared) await running?.confined.dispose();
  }
}
