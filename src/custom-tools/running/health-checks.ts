import { Inject, Injectable, Logger } from '@nestjs/common';
import { Deadline } from '../../common/deadline.js';
import { KeyedMutex } from '../../common/keyed-mutex.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { ToolLog } from '../../observability/tool-log.js';
import { type CallEvent, CallEvents } from '../../tool-contract/call-events.js';
import type { PoolStats } from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import {
  CustomToolsRepository,
  type ToolCondition,
  brokenBy,
  healthOf,
  type StatedHealth,
} from '../entity/custom-tools.repository.js';
import { RunningTools, type RuntimeEvent } from './running-tools.js';
import { poolsOf, sumOfStats } from './tool-backend.js';

const wellAgain = { status: 'active', healthStatus: 'healthy', errorMessage: null } as const;

/** Keeps true what the rows say of tools' health: what processes answer, how they end, and whether they start. */
@Injectable()
export class HealthChecks {
  private readonly logger = new Logger(HealthChecks.name);
  private readonly pingTimeoutMs: number;
  /** What is said of a tool is written in the order in which it was said. */
  private readonly writes = new KeyedMutex();
  /** Pools that gave up and go on trying by themselves, with back-off. */
  private readonly failing = new WeakSet<ProcessPool>();
  /** Tools whose last crash is written down and not yet followed by a good answer. */
  private readonly ailing = new Set<string>();
  /** Pools of tools that were found broken by a trial start: a good start of their own says otherwise. */
  private readonly doubted = new WeakSet<ProcessPool>();

  constructor(
    @Inject(APP_CONFIG) { customTools }: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly running: RunningTools,
    private readonly log: ToolLog,
    calls: CallEvents,
  ) {
    this.pingTimeoutMs = customTools.healthTimeoutMs;
    running.events.subscribe((event) => this.onPoolEvent(event));
    repository.conditions.subscribe(({ name, healthStatus }) => {
      if (healthStatus === 'healthy') this.ailing.delete(name);
    });
    running.deletions.subscribe((name) => this.ailing.delete(name));
    calls.subscribe((event) => this.onCall(event));
  }

  /** What a tool's processes do now; undefined where it has none and cannot have any. */
  processesOf(name: string): PoolStats | undefined {
    return sumOfStats(this.poolsOf(name));
  }

  /** Whether the tool's pool starts processes again and again until one is good: nobody else need try. */
  triesByItself(name: string): boolean {
    return this.poolsOf(name).some((pool) => this.failing.has(pool));
  }

  /** Asks an idle process, if there is one; a busy process is not disturbed and not called dead. */
  async ping(name: string): Promise<void> {
    const pools = this.poolsOf(name);
    const deadline = Deadline.ofSmallest([this.pingTimeoutMs]);
    const answers = await Promise.all(
      pools.map((each) => each.health(deadline).catch((error: Error) => error)),
    );
    // Meanwhile the tool may have been changed: then the answers are another's.
    if (this.poolsOf(name)[0] !== pools[0]) return;
    const ill = (reason: string) => ({ healthStatus: 'unhealthy', errorMessage: reason }) as const;
    const all = answers
      .filter((answer) => answer !== undefined)
      .map((answer) => (answer instanceof Error ? ill(answer.message) : healthOf(answer.reply)));
    const worst = all.find((each) => each.healthStatus !== 'healthy') ?? all[0];
    if (!worst) return;
    const said = this.withHeldBack(name, worst);
    const { healthStatus } = said;
    const errorMessage = said.errorMessage === null ? null : this.clean(name, said.errorMessage);
    this.log.write({ tool: name, event: 'health', ...(errorMessage && { error: healthStatus }) });
    await this.write(name, { healthStatus, errorMessage, lastHealthCheck: new Date() });
  }

  /**
   * Of a tool without a process: its program is there, or it could not be started. Nothing is started for that.
   * @param gone files of the program that are not there any more
   */
  look(name: string, gone: readonly string[]): Promise<void> {
    const lastHealthCheck = new Date();
    if (gone.length === 0) return this.write(name, { lastHealthCheck });
    const errorMessage = `Its program is not there any more: ${gone.join(', ')}`;
    return this.write(name, { healthStatus: 'unhealthy', errorMessage, lastHealthCheck });
  }

  /** A trial start failed: the tool is broken until another one, or a process of its own, starts. */
  broken(name: string, reason: string): Promise<void> {
    this.log.write({ tool: name, event: 'error', error: reason });
    for (const pool of this.poolsOf(name)) this.doubted.add(pool);
    return this.write(name, brokenBy(reason));
  }

  /** It was tried again, in vain. */
  stillBroken(name: string, reason: string): Promise<void> {
    return this.write(name, { errorMessage: reason, lastHealthCheck: new Date() });
  }

  /** A server whose tools are not what was approved is well, and less than it should be. */
  private withHeldBack(name: string, said: StatedHealth): StatedHealth {
    const held = (this.running.server(name)?.review() ?? []).filter(
      ({ state, approved }) => state === 'held' && approved,
    );
    const [first] = held;
    if (!first || said.healthStatus !== 'healthy') return said;
    const errorMessage = `${held.length} of its tools are held back: ${first.name}, for ${first.why}`;
    return { healthStatus: 'degraded', errorMessage };
  }

  /** After a crash a good call says that the tool works again; nobody waits for the next ping. */
  private onCall(event: CallEvent): void {
    if (this.ailing.size === 0 || event.kind !== 'executed' || event.status !== 'success' || event.test)
      return;
    const { tool } = event;
    for (const name of this.ailing) {
      if (name !== tool && !this.running.offers(name, tool)) continue;
      this.ailing.delete(name);
      const well = this.withHeldBack(name, { healthStatus: 'healthy', errorMessage: null });
      const written = this.write(name, { ...well, lastHealthCheck: new Date() });
      written.catch((error: unknown) => this.logger.error(error));
    }
  }

  private onPoolEvent(event: RuntimeEvent): void {
    const { source } = event;
    if (event.type === 'failed') this.failing.add(source);
    if (event.type === 'recovered') this.failing.delete(source);
    // Pools of trial runs and of replaced configurations say nothing about the tool.
    if (!this.running.runsOn(event.pool, source)) return;
    const condition = this.conditionAfter(event);
    if (!condition) return;
    const written = this.write(event.pool, { ...condition, lastHealthCheck: new Date() });
    written.catch((error: unknown) => this.logger.error(error));
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
        if (event.reason !== 'crash' || this.ailing.has(event.pool)) return undefined;
        this.ailing.add(event.pool);
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
    const backend = this.running.get(name)?.backend;
    return backend && 'pool' in backend ? backend.redactor.clean(text) : text;
  }

  private poolsOf(name: string): readonly ProcessPool[] {
    return poolsOf(this.running.get(name)?.backend);
  }
}
