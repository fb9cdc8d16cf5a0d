import { Inject, Injectable, Logger } from '@nestjs/common';
import { Deadline } from '../../common/deadline.js';
import { KeyedMutex } from '../../common/keyed-mutex.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { ToolLog } from '../../observability/tool-log.js';
import type { PoolStats } from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import { CustomToolsRepository, type ToolCondition } from '../entity/custom-tools.repository.js';
import { brokenBy, healthOf, type StatedHealth } from '../entity/tool-condition.js';
import { RunningTools, type RuntimeEvent } from './running-tools.js';

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
  /** Pools whose last crash is written down and not yet followed by a good answer. */
  private readonly ailing = new WeakSet<ProcessPool>();
  /** Pools of tools that were found broken by a trial start: a good start of their own says otherwise. */
  private readonly doubted = new WeakSet<ProcessPool>();

  constructor(
    @Inject(APP_CONFIG) { customTools }: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly running: RunningTools,
    private readonly log: ToolLog,
  ) {
    this.pingTimeoutMs = customTools.healthTimeoutMs;
    running.events.subscribe((event) => this.onPoolEvent(event));
    repository.conditions.subscribe(({ name, healthStatus }) => {
      const pool = this.poolOf(name);
      if (pool && healthStatus === 'healthy') this.ailing.delete(pool);
    });
  }

  /** What a tool's processes do now; undefined where it has none and cannot have any. */
  processesOf(name: string): PoolStats | undefined {
    return this.poolOf(name)?.stats();
  }

  /** Whether the tool's pool starts processes again and again until one is good: nobody else need try. */
  triesByItself(name: string): boolean {
    const pool = this.poolOf(name);
    return pool !== undefined && this.failing.has(pool);
  }

  /** Asks an idle process, if there is one; a busy process is not disturbed and not called dead. */
  async ping(name: string): Promise<void> {
    const pool = this.poolOf(name);
    const deadline = Deadline.ofSmallest([this.pingTimeoutMs]);
    const answer = await pool?.health(deadline).catch((error: Error) => error);
    // Meanwhile the tool may have been changed: then the answer is another's.
    if (!pool || answer === undefined || this.poolOf(name) !== pool) return;
    const ill = (reason: string) => ({ healthStatus: 'unhealthy', errorMessage: reason }) as const;
    const said =
      answer instanceof Error ? ill(answer.message) : this.withHeldBack(name, healthOf(answer.reply));
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
    const pool = this.poolOf(name);
    if (pool) this.doubted.add(pool);
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

  private onPoolEvent(event: RuntimeEvent): void {
    const { source } = event;
    if (event.type === 'failed') this.failing.add(source);
    if (event.type === 'recovered') this.failing.delete(source);
    // Pools of trial runs and of replaced configurations say nothing about the tool.
    if (this.poolOf(event.pool) !== source) return;
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
    const backend = this.running.get(name)?.backend;
    return backend && 'pool' in backend ? backend.redactor.clean(text) : text;
  }

  private poolOf(name: string): ProcessPool | undefined {
    const backend = this.running.get(name)?.backend;
    return backend && 'pool' in backend ? backend.pool : undefined;
  }
}
