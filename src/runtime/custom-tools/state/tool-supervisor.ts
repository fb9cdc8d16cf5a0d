import { Inject, Injectable, Logger } from '@nestjs/common';
import { Deadline } from '../../../base/common/deadline.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { levelOf, ToolLog, type ToolLogEntry } from '../../../base/observability/tool-log.js';
import type { PoolStats } from '../../process-pool/pool.types.js';
import { CallEvents, type ExecutedCall } from '../../../web/contract/call-events.js';
import { serverOf } from '../../mcp-client/mcp-review.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { ToolLogs } from '../logs/tool-logs.js';
import { ProcessMetrics } from '../running/process.metrics.js';
import { RunningTools, type RuntimeEvent } from '../running/running-tools.js';
import { sumOfStats } from '../running/tool-backend.js';
import {
  afterCrash,
  afterStart,
  afterSuccessfulCall,
  columnsOfBroken,
  healthOf,
  healthyColumns,
  type HealthColumns,
  type ToolCondition,
  type ToolState,
  withResult,
  worstHealth,
} from './tool-state.js';
import { ToolStates } from './tool-states.js';

type Terminated = Extract<RuntimeEvent, { type: 'terminate' }>;

/**
 * Turns events of tools' processes into counters, log lines and changes of the tools' states. It never makes a pool emit
 * events itself.
 */
@Injectable()
export class ToolSupervisor {
  private readonly logger = new Logger(ToolSupervisor.name);
  private readonly pingTimeoutMs: number;
  /** Processes whose unparsed output was logged: once each, because a tool may write megabytes of it. */
  private readonly loggedUnparsed = new Set<number>();
  /** Why the changed files of tools do not start, while their old processes go on, by tool. */
  private readonly startFaults = new Map<string, string>();

  constructor(
    @Inject(APP_CONFIG) { customTools }: AppConfig,
    private readonly states: ToolStates,
    private readonly running: RunningTools,
    private readonly serverLog: ToolLog,
    private readonly toolLogs: ToolLogs,
    private readonly metrics: ProcessMetrics,
    calls: CallEvents,
  ) {
    this.pingTimeoutMs = customTools.healthTimeoutMs;
    running.events.subscribe((event) => this.on(event));
    running.deletions.subscribe((tool) => {
      this.startFaults.delete(tool);
      this.logFailure(this.states.forget(tool));
      void this.metrics.forget(tool);
    });
    calls.subscribe('executed', this.onCall);
  }

  /** Processes of a tool by state; undefined if it has none and cannot have any. */
  processesOf(name: string): PoolStats | undefined {
    return sumOfStats(this.running.poolsOf(name));
  }

  /** Whether a pool of the tool is failing and retries by itself, so that no test start is needed. */
  retriesByItself(name: string): boolean {
    return this.running.poolsOf(name).some((pool) => pool.isFailing);
  }

  /** Sends a health request to an idle process of each pool; busy processes are not disturbed. */
  async ping(name: string): Promise<void> {
    const pools = this.running.poolsOf(name);
    const deadline = Deadline.ofSmallest([this.pingTimeoutMs]);
    const answers = await Promise.all(
      pools.map((each) => each.health(deadline).catch((error: Error) => error)),
    );
    // If the tool was changed meanwhile, the answers are those of old processes.
    if (this.running.poolsOf(name)[0] !== pools[0]) return;
    const unhealthy = (reason: string) => ({ healthStatus: 'unhealthy', errorMessage: reason }) as const;
    const all = answers
      .filter((answer) => answer !== undefined)
      .map((answer) => (answer instanceof Error ? unhealthy(answer.message) : healthOf(answer.reply)));
    const worst = worstHealth(all);
    if (!worst) return;
    const { healthStatus, errorMessage } = this.withPresentTroubles(name, worst);
    this.serverLog.write({
      tool: name,
      event: 'health',
      ...(errorMessage !== null && { error: healthStatus }),
    });
    // The tool's own message may contain its secrets.
    const clean = errorMessage && this.running.clean(name, errorMessage);
    await this.report(name, { healthStatus, errorMessage: clean });
  }

  /** Checks a tool without a process by its program's files, without starting anything. @param gone missing files */
  checkFiles(name: string, gone: readonly string[]): Promise<void> {
    const errorMessage = `Its program is missing: ${gone.join(', ')}`;
    return this.report(name, gone.length === 0 ? {} : { healthStatus: 'unhealthy', errorMessage });
  }

  /** Records a failed test start. The tool is broken until another test start or a process of its own succeeds. */
  reportBroken(name: string, reason: string): Promise<void> {
    this.serverLog.write({ tool: name, event: 'error', error: reason });
    return this.report(name, columnsOfBroken(reason));
  }

  /** Records that a tool's changed files do not start, while its old processes go on. */
  changedFilesFailed(name: string, reason: string): Promise<void> {
    const what = 'Its changed files do not start, and what ran before goes on';
    this.startFaults.set(name, `${what}: ${reason}`);
    this.logBoth({ tool: name, event: 'error', error: reason }, what);
    return this.report(name, this.withPresentTroubles(name, healthyColumns));
  }

  /** Ends the trouble of `changedFilesFailed`, because the tool runs its present files. */
  async changedFilesResolved(name: string): Promise<void> {
    const wasFailing = this.startFaults.delete(name);
    if (wasFailing) await this.report(name, this.withPresentTroubles(name, healthyColumns));
  }

  /** Records the result of a check or a start in the tool's state at this replica. */
  report(name: string, columns: Partial<ToolCondition>): Promise<void> {
    return this.change(name, (state) => withResult(state, columns));
  }

  /** Replaces the state of a tool by its row, which was written. */
  rowWritten(row: CustomTool): void {
    this.startFaults.delete(row.name);
    this.logFailure(this.states.rowWritten(row));
  }

  /** Changes the state of a tool at this replica. */
  private change(name: string, transition: (state: ToolState) => ToolState): Promise<void> {
    return this.states.change(name, this.running.get(name)?.tool.revision, transition);
  }

  /** Logs the failure of work that nobody waits for. */
  private logFailure(work: Promise<void>): void {
    work.catch((error: unknown) => this.logger.error(error));
  }

  /**
   * The health of a tool, lowered by troubles that its processes do not know: it is degraded while its changed files do
   * not start, an MCP server also while approved tools are held back.
   */
  private withPresentTroubles(name: string, health: HealthColumns): HealthColumns {
    if (health.healthStatus !== 'healthy') return health;
    const tools = this.running.server(name)?.allReviews() ?? [];
    const held = tools.filter(({ state, approved }) => state === 'held' && approved);
    const [first] = held;
    const heldBack = first && `${held.length} of its tools are held back: ${first.name}, for ${first.why}`;
    const errorMessage = this.startFaults.get(name) ?? heldBack;
    return errorMessage === undefined ? health : { healthStatus: 'degraded', errorMessage };
  }

  /** Ends the trouble of a crashed tool after a successful call, without waiting for the next ping. */
  private readonly onCall = ({ tool, status, test }: ExecutedCall): void => {
    const { crashed } = this.states;
    if (crashed.size === 0 || status !== 'success' || test) return;
    const name = crashed.has(tool) ? tool : serverOf(tool);
    if (name === undefined || !crashed.has(name)) return;
    if (name !== tool && !this.running.offered.namesOf(name).includes(tool)) return;
    const health = this.withPresentTroubles(name, healthyColumns);
    this.logFailure(this.change(name, (state) => afterSuccessfulCall(state, health)));
  };

  /** Counts and logs an event, and changes the tool's state accordingly. */
  private on(event: RuntimeEvent): void {
    this.metrics.count(event);
    this.logEvent(event);
    const { pool: tool, source } = event;
    // Pools of dry runs and of replaced configurations do not affect the tool's state.
    if (!this.running.poolsOf(tool).includes(source)) return;
    if (event.type === 'failed') this.logFailure(this.report(tool, columnsOfBroken(event.error)));
    else if (event.type === 'spawn' && !this.retriesByItself(tool))
      this.logFailure(this.change(tool, afterStart));
    else if (event.type === 'terminate' && event.reason === 'crash')
      this.logFailure(this.change(tool, (state) => afterCrash(state, event)));
  }

  /** Logs an event of a pool. */
  private logEvent(event: RuntimeEvent): void {
    const tool = event.pool;
    switch (event.type) {
      case 'starting':
        return this.toolLogs.append({
          tool,
          level: 'debug',
          event: 'spawn',
          message: 'a process is started',
        });
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
        const error = 'writes lines to stdout that are no messages';
        if (this.loggedUnparsed.has(pid)) return;
        this.loggedUnparsed.add(pid);
        return this.serverLog.write({ tool, event: 'error', pid, error });
      }
      default:
        return event satisfies never;
    }
  }

  /** Logs the end of a process. */
  private logEnd({ pool: tool, pid, reason, exitCode, signal, why }: Terminated): void {
    const isFault = ['crash', 'protocol', 'output', 'flood'].includes(reason);
    this.loggedUnparsed.delete(pid);
    const how = signal === null ? `exit code ${exitCode}` : signal;
    this.logBoth(
      { tool, event: 'terminate', pid, reason, exitCode, signal, ...(isFault && { error: why ?? reason }) },
      `the process ended with ${how} (${reason})${why === undefined ? '' : `: ${why}`}`,
    );
  }

  /** Writes to the server's log and to the tool's own. */
  private logBoth(entry: ToolLogEntry, message?: string): void {
    this.serverLog.write(entry);
    this.toolLogs.append({ ...entry, level: levelOf(entry), ...(message !== undefined && { message }) });
  }
}
