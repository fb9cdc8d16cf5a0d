import { Inject, Injectable, Logger } from '@nestjs/common';
import { Deadline } from '../../common/deadline.js';
import { Problem } from '../../common/errors.js';
import { forEachOf } from '../../common/for-each-of.js';
import { IntervalLoop } from '../../common/interval-loop.js';
import { KeyedMutex } from '../../common/keyed-mutex.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { ToolLog } from '../../observability/tool-log.js';
import type { PoolStats } from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { CustomToolRuntimes, type RuntimeEvent } from '../running/custom-tool-runtimes.js';
import { CustomToolsRepository, type ToolCondition } from '../entity/custom-tools.repository.js';
import { RetrySchedule } from './retry-schedule.js';
import { answeredNow, brokenBy, healthOf } from '../entity/tool-condition.js';
import { couldNotTry, ToolInspector } from '../launch/tool-inspector.js';

/** A slow tool holds up one lane, not the others' pings. */
const pingsAtOnce = 16;
/** Tries of tools that cannot start cost processes: they have lanes of their own, and end within their start time-out. */
const triesAtOnce = 4;
const longestPauseMs = 600_000;
const wellAgain = { status: 'active', healthStatus: 'healthy', errorMessage: null } as const;
const noProcesses = { starting: 0, idle: 0, busy: 0, waiting: 0 };

export interface CustomToolHealth extends Pick<
  CustomTool,
  'name' | 'status' | 'healthStatus' | 'lastHealthCheck' | 'errorMessage'
> {
  readonly processes: Omit<PoolStats, 'pids'>;
}

/** Keeps the rows' health true: pings idle processes, marks tools that cannot start, brings them back. */
@Injectable()
export class CustomToolMonitor {
  private readonly logger = new Logger(CustomToolMonitor.name);
  private readonly loop: IntervalLoop;
  private readonly tries: RetrySchedule;
  private readonly pingTimeoutMs: number;
  /** What is said of a tool is written in the order in which it was said. */
  private readonly writes = new KeyedMutex();
  /** Pools that gave up and go on trying by themselves, with back-off. */
  private readonly failing = new WeakSet<ProcessPool>();
  /** Pools whose last crash is written down and not yet followed by a good answer. */
  private readonly ailing = new WeakSet<ProcessPool>();
  /** Pools of tools that were found broken by a trial start: a good start of their own says otherwise. */
  private readonly doubted = new WeakSet<ProcessPool>();

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly inspector: ToolInspector,
    private readonly manager: CustomToolManager,
    private readonly runtimes: CustomToolRuntimes,
    private readonly log: ToolLog,
  ) {
    const { healthCheckIntervalMs, healthTimeoutMs } = config.customTools;
    this.pingTimeoutMs = healthTimeoutMs;
    this.tries = new RetrySchedule(healthCheckIntervalMs, Math.max(longestPauseMs, healthCheckIntervalMs));
    this.loop = new IntervalLoop(
      () => this.checkAll(),
      healthCheckIntervalMs,
      (error) => this.logger.error(error),
    );
    this.runtimes.events.subscribe((event) => this.onPoolEvent(event));
  }

  start(): void {
    this.loop.start();
  }

  /** A round under way ends by itself: its processes are about to. */
  stop(): void {
    void this.loop.stop();
  }

  /** Pings an idle process now, if there is one; a busy process is not disturbed and not called dead. */
  async health(name: string): Promise<CustomToolHealth> {
    await this.ping(await this.repository.get(name));
    const { status, healthStatus, lastHealthCheck, errorMessage } = await this.repository.get(name);
    const { pids: _pids, ...processes } = this.poolOf(name)?.stats() ?? { ...noProcesses, pids: [] };
    return { name, status, healthStatus, lastHealthCheck, errorMessage, processes };
  }

  /** One round: pings and tries, side by side. */
  async checkAll(): Promise<void> {
    const tools = await this.repository.list();
    const broken = tools.filter(({ status }) => status === 'error');
    this.tries.keep(new Set(broken.map(({ name }) => name)));
    await Promise.all([
      forEachOf(
        tools.filter(({ status }) => status === 'active'),
        pingsAtOnce,
        (tool) => this.logged(this.check(tool)),
      ),
      forEachOf(this.due(broken), triesAtOnce, ({ name }) => this.logged(this.tryAgain(name))),
    ]);
  }

  private logged(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => this.logger.error(error));
  }

  /** So many that a round stays short; who was passed over is still due in the next one. */
  private due(broken: readonly CustomTool[]): CustomTool[] {
    const now = performance.now();
    const isDue = ({ name }: CustomTool): boolean => {
      const pool = this.poolOf(name);
      return !(pool && this.failing.has(pool)) && this.tries.isDue(name, now);
    };
    return broken.filter(isDue).slice(0, triesAtOnce);
  }

  private async tryAgain(name: string): Promise<void> {
    // Until it has ended it is a failure: one that takes long goes to the end of the line.
    this.tries.failed(name, performance.now());
    try {
      await this.manager.recover(name);
      this.tries.forget(name);
    } catch (error) {
      if (couldNotTry(error)) return;
      if (!(error instanceof Problem)) throw error;
      await this.write(name, { errorMessage: error.detail, lastHealthCheck: new Date() });
    }
  }

  private async check(tool: CustomTool): Promise<void> {
    const stats = this.poolOf(tool.name)?.stats();
    const hasProcess = stats && stats.idle + stats.busy + stats.starting > 0;
    // It failed its last check and nobody called it since: nothing else would find out how it is.
    if (stats && !hasProcess && tool.healthStatus === 'unhealthy') await this.tryToStart(tool);
    else await this.ping(tool);
  }

  private async tryToStart(tool: CustomTool): Promise<void> {
    try {
      const { health } = await this.inspector.inspect(tool);
      await this.write(tool.name, answeredNow(health));
    } catch (error) {
      if (couldNotTry(error)) return;
      if (!(error instanceof Problem)) throw error;
      this.log.write({ tool: tool.name, event: 'error', error: error.detail });
      const pool = this.poolOf(tool.name);
      if (pool) this.doubted.add(pool);
      await this.write(tool.name, brokenBy(error.detail));
    }
  }

  private async ping({ name }: CustomTool): Promise<void> {
    const pool = this.poolOf(name);
    const deadline = Deadline.ofSmallest([this.pingTimeoutMs]);
    const answer = await pool?.health(deadline).catch((error: Error) => error);
    // Meanwhile the tool may have been changed: then the answer is another's.
    if (!pool || answer === undefined || this.poolOf(name) !== pool) return;
    const ill = (reason: string) => ({ healthStatus: 'unhealthy', errorMessage: reason }) as const;
    const said = answer instanceof Error ? ill(answer.message) : healthOf(answer.reply);
    const { healthStatus } = said;
    const errorMessage = said.errorMessage === null ? null : this.clean(name, said.errorMessage);
    if (healthStatus === 'healthy') this.ailing.delete(pool);
    this.log.write({ tool: name, event: 'health', ...(errorMessage && { error: healthStatus }) });
    await this.write(name, { healthStatus, errorMessage, lastHealthCheck: new Date() });
  }

  private onPoolEvent(event: RuntimeEvent): void {
    const { source } = event;
    if (event.type === 'failed') this.failing.add(source);
    if (event.type === 'recovered') this.failing.delete(source);
    // Pools of trial runs and of replaced configurations say nothing about the tool.
    if (this.poolOf(event.pool) !== source) return;
    const condition = this.conditionAfter(event);
    if (condition) void this.logged(this.write(event.pool, { ...condition, lastHealthCheck: new Date() }));
  }

  private conditionAfter(event: RuntimeEvent): ToolCondition | undefined {
    switch (event.type) {
      case 'failed':
        return { status: 'error', healthStatus: 'unhealthy', errorMessage: event.error };
      case 'recovered':
        return wellAgain;
      case 'spawn':
        return this.doubted.delete(event.source) ? wellAgain : undefined;
      case 'terminate': {
        // A tool that crashes with every call is written down once.
        if (event.reason !== 'crash' || this.ailing.has(event.source)) return undefined;
        this.ailing.add(event.source);
        const how = event.signal === null ? `with exit code ${event.exitCode}` : `by ${event.signal}`;
        return { healthStatus: 'unhealthy', errorMessage: `A process of it ended ${how}` };
      }
      default:
        return undefined;
    }
  }

  private write(name: string, condition: ToolCondition): Promise<void> {
    return this.writes.run(name, () => this.repository.setCondition(name, condition));
  }

  /** A tool's own words may hold its secrets. */
  private clean(name: string, text: string): string {
    const backend = this.runtimes.get(name)?.backend;
    return backend && 'pool' in backend ? backend.redactor.clean(text) : text;
  }

  private poolOf(name: string): ProcessPool | undefined {
    const backend = this.runtimes.get(name)?.backend;
    return backend && 'pool' in backend ? backend.pool : undefined;
  }
}
