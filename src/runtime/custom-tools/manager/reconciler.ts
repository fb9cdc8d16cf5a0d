import { bulkhead } from 'cockatiel';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { endsWithin } from '../../../base/common/abortable.js';
import { isDatabaseUnavailable, Problem } from '../../../base/common/errors.js';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { StartupWork } from '../../../base/common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { TableFollower } from '../../../base/database/table-follower.js';
import { retryAtStart } from '../../../base/database/transient-error.js';
import { ToolRegistry } from '../../../call/door/tool-registry.js';
import { serverOf } from '../../mcp-client/mcp-review.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { differingFiles, filesKey } from '../entity/revision-content.js';
import { RunningTools } from '../running/running-tools.js';
import { ToolSupervisor } from '../state/tool-supervisor.js';
import { SecretsRenewal } from '../../secrets/secrets-renewal.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { InstalledFolders } from './installed-folders.js';
import { InstalledToolsImporter } from './installed-tools.importer.js';
import { Failures, type Plan, stepFor } from './reconciliation.js';

/** A file written this long ago counts as complete. */
const settledMs = 150;
/** Concurrent checks, and loads of changed rows; a slow tool delays one lane only. */
const checksAtOnce = 16;
/** Concurrent test starts of executables, and plans and loads of a round. */
const startsAtOnce = 4;
/** Max time that the start waits for tools to load. */
const headStartMs = 500;
/** Pause limit for files that failed to start: the cause may have been temporary. */
const maxPauseMs = 60_000;
/** Pause limit for a broken tool, because each test start costs a process. */
const maxBrokenPauseMs = 600_000;
/** Interval of reading all rows, in case a notification was lost. */
const rowsMs = 60_000;
/** Max time that the stop waits for work in progress. */
const lastWorkMs = 1_000;

/** Work that a round begins and does not wait for. No kind overlaps itself. */
type Work = 'loads' | 'imports' | 'testStarts' | 'checks';

/** A tool's stored health, and the number of its processes by their state. */
type ToolCheck = Pick<CustomTool, 'name' | 'status' | 'healthStatus' | 'lastHealthCheck' | 'errorMessage'> & {
  readonly processes: Record<'starting' | 'idle' | 'busy' | 'waiting', number>;
};

/**
 * Starts, replaces and stops tools so that they match their rows and files, and records their health. A changed file in
 * CUSTOM_TOOLS_DIR starts a round at once, which imports new tool.json files and test-starts tools whose files changed. A
 * changed row is loaded as soon as the database notifies of it. Without changes a round plans all tools every two
 * seconds; every CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL it also checks their health.
 */
@Injectable()
export class Reconciler implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Reconciler.name);
  private readonly loop: IntervalLoop;
  private readonly folders: InstalledFolders;
  private readonly failures = new Failures();
  private readonly underWay = new Map<Work, Promise<void>>();
  /** Work left to the next round, which follows as soon as the work in progress has ended. */
  private readonly postponed = new Set<Work>();
  private checksDueAt = 0;
  private isStopping = false;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
    private readonly running: RunningTools,
    private readonly supervisor: ToolSupervisor,
    private readonly importer: InstalledToolsImporter,
    private readonly work: StartupWork,
    private readonly renewal: SecretsRenewal,
    private readonly follower: TableFollower,
    private readonly registry: ToolRegistry,
  ) {
    const { reloadIntervalMs, healthCheckIntervalMs } = config.customTools;
    this.loop = new IntervalLoop(
      () => this.round({ checks: performance.now() >= this.checksDueAt }),
      Math.min(reloadIntervalMs, healthCheckIntervalMs),
      (error, again) => {
        // The database may be away for long: one line is enough.
        if (!again) this.logger.error(error, 'Changes to tools are not seen: the database does not answer');
      },
    );
    this.folders = new InstalledFolders(config.customTools.dir, () => this.loop.hasten(settledMs));
  }

  /** Lists the custom tools, which readiness waits for, and loads them in the background. */
  onApplicationBootstrap(): void {
    // Before the first tool is loaded, because revisions are compared by their encrypted values.
    const renewed = retryAtStart(() => this.renewal.run());
    this.work.register('secrets', renewed);
    // Tools with readable values start even if others fail.
    const start = (): Promise<void> => this.start();
    this.work.register('custom tools', renewed.then(start, start));
    this.work.progress = () => this.running.progress();
    // Other replicas' tools are looked up and followed once all tools are listed.
    void this.work.settled().then(() => {
      this.registry.fetch = (name) => this.loadUnlisted(name);
      const followed = { table: 'custom_tools', what: 'tools', everyMs: rowsMs };
      this.follower.follow(followed, () => this.loadChanges());
    });
  }

  /**
   * Starts no more work. Work in progress has `lastWorkMs` to end, then all processes are stopped, with their calls: the
   * HTTP server closes next, and would wait for these calls forever.
   */
  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.loop.stop();
    this.folders.close();
    await endsWithin(lastWorkMs, Promise.all(this.underWay.values()));
    await this.running.stopAll();
  }

  /** Runs one round; resolves when all work that it began has ended. @param checks whether it also checks health */
  async reconcile({ checks }: { checks: boolean }): Promise<void> {
    await this.round({ checks });
    await Promise.all(this.underWay.values());
  }

  /** Checks a tool now. @throws Problem `not_found` */
  async check(name: string): Promise<ToolCheck> {
    const row = await this.repository.get(name);
    if (this.running.awaits(name)) await this.manager.load(name);
    const { gone } = await this.plan(name, { checks: true });
    if (this.processCountOf(name)) await this.supervisor.ping(name);
    else if (row.status === 'active') await this.supervisor.checkFiles(name, gone);
    const { status, healthStatus, lastHealthCheck, errorMessage } = await this.repository.get(name);
    const { starting = 0, idle = 0, busy = 0, waiting = 0 } = this.supervisor.processesOf(name) ?? {};
    const processes = { starting, idle, busy, waiting };
    return { name, status, healthStatus, lastHealthCheck, errorMessage, processes };
  }

  /** Resolves when tools are listed and imported; waits for the database, because a replica without tools is not ready. */
  private async start(): Promise<void> {
    this.checksDueAt = performance.now() + this.config.customTools.healthCheckIntervalMs;
    try {
      this.running.offered.list(await this.repository.list(), (name) => this.manager.load(name));
      await this.repository.readChanges();
      await this.round({ checks: false });
      await this.underWay.get('imports');
      await endsWithin(headStartMs, this.underWay.get('loads') ?? Promise.resolve());
    } catch (error) {
      if (this.isStopping || !isDatabaseUnavailable(error)) throw error;
      await delay(this.config.customTools.reloadIntervalMs);
      return await this.start();
    } finally {
      if (!this.isStopping) this.loop.start(0);
    }
  }

  /** Loads tools that were registered, changed, disabled or deleted, mostly at other replicas. */
  private async loadChanges(): Promise<void> {
    await this.repository.readChanges();
    const changed = this.names().filter((name) => !this.matchesItsRow(name));
    await this.each(changed, checksAtOnce, async (name) =>
      this.load(await this.plan(name, { checks: false })),
    );
  }

  /** The names of all tools that have a row or are offered here. */
  private names(): string[] {
    return [...new Set([...this.repository.names(), ...this.running.offered.byTool.keys()])].sort();
  }

  /** Whether a tool runs the revision of its row, or will be loaded by its next call. */
  private matchesItsRow(name: string): boolean {
    const row = this.repository.row(name);
    if (!row || row.status === 'inactive') return !this.running.offered.byTool.has(name);
    return this.running.awaits(name) || this.running.get(name)?.isOf(row) === true;
  }

  /** Loads a tool that another replica registered a moment ago, by its name or that of one of its tools. */
  private async loadUnlisted(name: string): Promise<void> {
    const server = serverOf(name);
    const tool = (await this.repository.find(name)) ?? (server && (await this.repository.find(server)));
    if (tool) await this.manager.load(tool.name);
  }

  /** Plans all tools and begins the work. */
  private async round({ checks: isCheckDue }: { checks: boolean }): Promise<void> {
    const checks = isCheckDue && !this.underWay.has('checks');
    await this.folders.watch();
    const plans = await this.planAll({ checks });
    if (this.isStopping) return;
    const loads = plans.filter(({ step }) => step === 'load');
    if (loads.length > 0)
      this.begin('loads', () => this.each(loads, startsAtOnce, (tool) => this.load(tool)));
    this.begin('imports', () => this.importer.importAll());
    // Changed files first, because their author waits for the result.
    const hasChanges = ({ changed }: Plan): number => Number(changed.length > 0);
    const due = plans
      .filter(({ step }) => step === 'testStart')
      .sort((a, b) => hasChanges(b) - hasChanges(a));
    // The others follow in the next round, after files that have changed meanwhile.
    if (due.length > startsAtOnce) this.postponed.add('testStarts');
    const next = due.slice(0, startsAtOnce);
    if (next.length > 0)
      this.begin('testStarts', () => this.each(next, startsAtOnce, (tool) => this.testStart(tool)));
    if (checks) this.begin('checks', () => this.checkAll(plans));
  }

  /** Plans all tools that have a row or are offered here. */
  private async planAll(options: { checks: boolean }): Promise<Plan[]> {
    const names = this.names();
    this.failures.retain(new Set(names));
    const plans: Plan[] = [];
    await this.each(names, startsAtOnce, async (name) => {
      plans.push(await this.plan(name, options));
    });
    return plans;
  }

  /** Determines a tool's next step. Also ends its recorded failures and troubles that are over. */
  private async plan(name: string, { checks }: { checks: boolean }): Promise<Plan> {
    const row = this.repository.row(name);
    const wrapper = this.running.get(name);
    const files = wrapper ? await this.manager.filesOf(wrapper) : [];
    const changed = wrapper ? differingFiles(wrapper.running.files, files) : [];
    if (changed.length === 0) await this.supervisor.changedFilesResolved(name);
    const gone = changed.filter((path) => !files.some((file) => file.path === path));
    const candidate = `${row?.id} ${row?.revision}\n${filesKey(files)}`;
    const running = wrapper && {
      isOfRow: row !== undefined && wrapper.isOf(row),
      hasChangedFiles: changed.length > 0,
      processes: 'pool' in wrapper.backend ? this.processCountOf(name) : undefined,
      retriesByItself: this.supervisor.retriesByItself(name),
    };
    // If no step is needed even though a test start is allowed, the tool has recovered.
    if (!stepFor({ row, running, mayTry: true, checks: false })) this.failures.forget(name);
    const mayTry = this.failures.mayTry(name, candidate, performance.now());
    return { name, row, candidate, changed, gone, step: stepFor({ row, running, mayTry, checks }) };
  }

  /** Loads a tool. One that is not a tool gets status `error`. */
  private async load({ name, row, candidate }: Plan): Promise<void> {
    try {
      await this.manager.load(name);
      // The running revision goes on if the new one cannot start at the moment.
      if (row && row.status !== 'inactive' && !this.running.get(name)?.isOf(row))
        this.recordFailure(name, candidate);
    } catch (error) {
      if (this.recordFailure(name, candidate)) this.logger.error(error, `${name} was not loaded`);
      // The tool's own fault, such as a schema that is too expensive to compile, becomes its status.
      if (!(error instanceof Problem) || this.running.get(name)) return;
      this.running.withdraw(name);
      await this.supervisor.reportBroken(name, error.detail);
    }
  }

  /** Starts the executable once, and runs it if it answers. */
  private async testStart(tool: Plan): Promise<void> {
    const { name, row, step, changed, candidate } = tool;
    if (changed.length > 0 && !(await this.isSettled(tool))) return this.loop.hasten(settledMs);
    const reason = await this.reload(name);
    if (reason === undefined) {
      if (changed.length > 0) this.logger.log(`${name} runs changed files: ${changed.join(', ')}`);
    } else if (step === 'retry') {
      this.recordFailure(name, candidate, 'broken');
      await this.supervisor.reportBroken(name, reason);
    } else if (row?.status === 'error') {
      this.recordFailure(name, candidate, 'broken');
      await this.supervisor.report(name, { errorMessage: reason });
    } else if (this.recordFailure(name, candidate)) {
      await this.supervisor.changedFilesFailed(name, reason);
    }
  }

  /** Starts changed files. @returns why the executable is not a tool; undefined if it is one or could not be tried */
  private async reload(name: string): Promise<string | undefined> {
    try {
      await this.manager.reload(name);
      this.failures.forget(name);
      return undefined;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // No process slot was free, or another replica changed the tool: the next round tries again.
      return error.code === 'invalid_request' ? error.detail : undefined;
    }
  }

  /** Checks the health of all tools as planned. */
  private async checkAll(plans: readonly Plan[]): Promise<void> {
    await this.each(plans, checksAtOnce, async (tool) => {
      if (tool.step === 'ping') await this.supervisor.ping(tool.name);
      else if (tool.step === 'checkFiles') await this.supervisor.checkFiles(tool.name, tool.gone);
      else if (tool.step === 'retry') await this.testStart(tool);
    });
    this.checksDueAt = performance.now() + this.config.customTools.healthCheckIntervalMs;
  }

  /** Waits a moment. @returns whether the files stayed the same, so that they are not being written */
  private async isSettled({ name, candidate }: Plan): Promise<boolean> {
    await delay(settledMs);
    return (await this.plan(name, { checks: false })).candidate === candidate;
  }

  /** Records a failed start. @param how `broken`: longer pauses @returns whether it is the candidate's first failure */
  private recordFailure(name: string, candidate: string, how?: 'broken'): boolean {
    const { reloadIntervalMs, healthCheckIntervalMs } = this.config.customTools;
    const [firstMs, maxMs] =
      how === 'broken' ? [healthCheckIntervalMs, maxBrokenPauseMs] : [reloadIntervalMs, maxPauseMs];
    const pauses = { firstMs, maxMs: Math.max(firstMs, maxMs) };
    return this.failures.add(name, candidate, pauses, performance.now());
  }

  /** Begins work that the round does not wait for; postpones it if work of its kind is still in progress. */
  private begin(kind: Work, work: () => Promise<void>): void {
    if (this.underWay.has(kind)) {
      this.postponed.add(kind);
      return;
    }
    const done = work()
      .catch((error: unknown) => this.logger.error(error))
      .finally(() => {
        this.underWay.delete(kind);
        if (this.postponed.delete(kind)) this.loop.hasten(0);
      });
    this.underWay.set(kind, done);
  }

  /** Runs a task for each item, `width` at a time. A failure is logged, and the others go on. */
  private async each<T>(items: readonly T[], width: number, task: (item: T) => Promise<void>): Promise<void> {
    const lanes = bulkhead(width, Infinity);
    const run = async (item: T): Promise<void> => {
      if (!this.isStopping) await task(item).catch((error: unknown) => this.logger.error(error));
    };
    await Promise.all(items.map((item) => lanes.execute(() => run(item))));
  }

  /** Number of processes that start, are idle or work. */
  private processCountOf(name: string): number {
    const { starting = 0, idle = 0, busy = 0 } = this.supervisor.processesOf(name) ?? {};
    return starting + idle + busy;
  }
}
