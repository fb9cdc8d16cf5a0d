import { Inject, Injectable, Logger } from '@nestjs/common';
import { Deadline } from '../../../base/common/deadline.js';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { levelOf, ToolLog, type ToolLogEntry } from '../../../base/observability/tool-log.js';
import type { PoolStats } from '../../process-pool/pool.types.js';
import type { ProcessPool } from '../../process-pool/process-pool.js';
import { ToolEvents } from '../../../base/streams/tool-events.js';
import { CallEvents, type ExecutedCall } from '../../../web/contract/call-events.js';
import {
  brokenBy,
  CustomToolsRepository,
  healthOf,
  type StatedHealth,
} from '../entity/custom-tools.repository.js';
import { type ToolCondition, ToolConditions } from '../entity/tool-conditions.js';
import { ToolLogs } from '../logs/tool-logs.js';
import { ConditionEvents, crashMessage, type NamedCondition } from './condition-events.js';
import { ProcessMetrics } from './process.metrics.js';
import { RunningTools, type RuntimeEvent } from './running-tools.js';
import { sumOfStats } from './tool-backend.js';

type Terminated = Extract<RuntimeEvent, { type: 'terminate' }>;

const wellAgain = { status: 'active', healthStatus: 'healthy', errorMessage: null } as const;

/**
 * Turns what happens to the processes of tools into counters, log lines, conditions of tools, and events for
 * the whole server. Nothing that it does makes a pool emit.
 */
@Injectable()
export class ToolSupervisor {
  private readonly logger = new Logger(ToolSupervisor.name);
  private readonly pingTimeoutMs: number;
  private readonly conditions: ConditionEvents;
  /** Conditions of one tool are written in the order in which they came. */
  private readonly writes = new KeyedMutex();
  /** Processes whose first line of unparsed output is in the server's log: a tool may write megabytes of it. */
  private readonly noisy = new Set<number>();
  /** Pools that gave up and go on trying by themselves, with back-off. */
  private readonly failing = new WeakSet<ProcessPool>();
  /** Tools whose last crash is written down and not yet followed by a good answer. */
  private readonly ailing = new Set<string>();
  /** Pools of tools that failed a trial start, until one of their own starts succeeds. */
  private readonly doubted = new WeakSet<ProcessPool>();

  constructor(
    @Inject(APP_CONFIG) { customTools }: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly current: ToolConditions,
    private readonly running: RunningTools,
    private readonly log: ToolLog,
    private readonly logs: ToolLogs,
    private readonly metrics: ProcessMetrics,
    events: ToolEvents,
    calls: CallEvents,
  ) {
    this.pingTimeoutMs = customTools.healthTimeoutMs;
    this.conditions = new ConditionEvents((event) => events.publish(event));
    running.events.subscribe((event) => this.on(event));
    running.deletions.subscribe((tool) => this.forget(tool));
    calls.subscribe('executed', (event) => this.onCall(event));
  }

  /** Processes of a tool by state; undefined if it has none and cannot have any. */
  processesOf(name: string): PoolStats | undefined {
    return sumOfStats(this.running.poolsOf(name));
  }

  /** Whether the tool's pool retries starts by itself, so that no trial is needed. */
  triesByItself(name: string): boolean {
    return this.running.poolsOf(name).some((pool) => this.failing.has(pool));
  }

  /** Asks an idle process, if there is one; a busy process is not disturbed and not called dead. */
  async ping(name: string): Promise<void> {
    const pools = this.running.poolsOf(name);
    const deadline = Deadline.ofSmallest([this.pingTimeoutMs]);
    const answers = await Promise.all(
      pools.map((each) => each.health(deadline).catch((error: Error) => error)),
    );
    // Meanwhile the tool may have been changed: then the answers are another's.
    if (this.running.poolsOf(name)[0] !== pools[0]) return;
    const ill = (reason: string) => ({ healthStatus: 'unhealthy', errorMessage: reason }) as const;
    const all = answers
      .filter((answer) => answer !== undefined)
      .map((answer) => (answer instanceof Error ? ill(answer.message) : healthOf(answer.reply)));
    const worst = all.find((each) => each.healthStatus !== 'healthy') ?? all[0];
    if (!worst) return;
    const { healthStatus, errorMessage } = this.withHeldBack(name, worst);
    this.log.write({ tool: name, event: 'health', ...(errorMessage !== null && { error: healthStatus }) });
    // A tool's own words may hold its secrets.
    const clean = errorMessage && this.running.clean(name, errorMessage);
    await this.write(name, { healthStatus, errorMessage: clean, lastHealthCheck: new Date() });
  }

  /**
   * Checks a tool without a process: is its program there? Nothing is started for that.
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
    for (const pool of this.running.poolsOf(name)) this.doubted.add(pool);
    return this.write(name, brokenBy(reason));
  }

  /** Takes a tool's condition at this replica; a tool that is inactive stays as it is. */
  write(name: string, condition: ToolCondition): Promise<void> {
    return this.writes.run(name, async () => {
      const revision = this.running.get(name)?.tool.revision;
      const written = await this.repository.setCondition(name, revision, condition);
      if (written) this.report({ name, ...written });
    });
  }

  /** A tool's row was written, and what was known of its condition is over. */
  stored(row: NamedCondition): void {
    this.current.reset(row.name).catch((error: unknown) => this.logger.error(error));
    this.report(row);
  }

  private report(row: NamedCondition): void {
    const { name, status, healthStatus, errorMessage } = row;
    if (healthStatus === 'healthy') this.ailing.delete(name);
    if (status) this.logs.status(name, status, errorMessage);
    this.conditions.written(row);
  }

  private forget(tool: string): void {
    this.ailing.delete(tool);
    this.conditions.forget(tool);
    this.current.reset(tool).catch((error: unknown) => this.logger.error(error));
    void this.metrics.forget(tool);
  }

  /** An MCP server is degraded while tools that were approved are held back. */
  private withHeldBack(name: string, health: StatedHealth): StatedHealth {
    const held = (this.running.server(name)?.review() ?? []).filter(
      ({ state, approved }) => state === 'held' && approved,
    );
    const [first] = held;
    if (!first || health.healthStatus !== 'healthy') return health;
    const errorMessage = `${held.length} of its tools are held back: ${first.name}, for ${first.why}`;
    return { healthStatus: 'degraded', errorMessage };
  }

  /** Marks a crashed tool as healthy after a successful call, without waiting for the next ping. */
  private onCall({ tool, status, test }: ExecutedCall): void {
    if (this.ailing.size === 0 || status !== 'success' || test) return;
    for (const name of this.ailing) {
      if (name !== tool && !this.running.offered.namesOf(name).includes(tool)) continue;
      this.ailing.delete(name);
      this.note(name, this.withHeldBack(name, { healthStatus: 'healthy', errorMessage: null }));
    }
  }

  private on(event: RuntimeEvent): void {
    this.metrics.count(event);
    this.logEvent(event);
    const { pool: tool, source } = event;
    if (event.type === 'failed') this.failing.add(source);
    if (event.type === 'recovered') this.failing.delete(source);
    // Pools of dry runs and of replaced configurations do not affect the tool's condition.
    if (!this.running.poolsOf(tool).includes(source)) return;
    if (event.type === 'failed') {
      this.conditions.failed(tool, event.error);
      this.note(tool, { status: 'error', healthStatus: 'unhealthy', errorMessage: event.error });
    } else if (event.type === 'recovered') {
      this.conditions.recovered(tool);
      this.note(tool, wellAgain);
    } else if (event.type === 'spawn' && this.doubted.delete(source)) this.note(tool, wellAgain);
    else if (event.type === 'terminate' && event.reason === 'crash') this.crashed(tool, event);
  }

  /** A tool that crashes with every call is written down once. */
  private crashed(tool: string, end: Terminated): void {
    this.conditions.crashed(tool, end);
    if (this.ailing.has(tool)) return;
    this.ailing.add(tool);
    this.note(tool, { healthStatus: 'unhealthy', errorMessage: crashMessage(end) });
  }

  /** Takes a condition in the background. */
  private note(name: string, condition: ToolCondition): void {
    const written = this.write(name, { ...condition, lastHealthCheck: new Date() });
    written.catch((error: unknown) => this.logger.error(error));
  }

  private logEvent(event: RuntimeEvent): void {
    const tool = event.pool;
    switch (event.type) {
      case 'starting':
        return this.logs.append({ tool, level: 'debug', event: 'spawn', message: 'a process is started' });
      case 'spawn': {
        const durationMs = Math.round(event.durationMs);
        return this.logBoth({ tool, event: 'spawn', durationMs, pid: event.pid }, 'the process is ready');
      }
      case 'terminate':
        return this.logEnd(event);
      case 'start_failed':
        return this.logBoth({
          tool,
          event: 'error',
          error: `start ${event.failures} failed: ${event.error}`,
        });
      case 'failed':
        return this.logBoth({ tool, event: 'error', error: event.error });
      case 'recovered':
        return this.logBoth({ tool, event: 'health', reason: 'recovered' });
      case 'unparsed': {
        const { pid } = event;
        if (this.noisy.has(pid)) return;
        this.noisy.add(pid);
        return this.log.write({
          tool,
          event: 'error',
          pid,
          error: 'writes lines to stdout that are no messages',
        });
      }
      default:
        return event satisfies never;
    }
  }

  private logEnd({ pool: tool, pid, reason, exitCode, signal, why }: Terminated): void {
    const faulty = ['crash', 'protocol', 'output', 'flood'].includes(reason);
    this.noisy.delete(pid);
    const how = signal === null ? `exit code ${exitCode}` : signal;
    this.logBoth(
      { tool, event: 'terminate', pid, reason, exitCode, signal, ...(faulty && { error: why ?? reason }) },
      `the process ended with ${how} (${reason})${why === undefined ? '' : `: ${why}`}`,
    );
  }

  /** Into the server's log and the tool's own. */
  private logBoth(entry: ToolLogEntry, message?: string): void {
    this.log.write(entry);
    this.logs.append({ ...entry, level: levelOf(entry), ...(message !== undefined && { message }) });
  }
}
