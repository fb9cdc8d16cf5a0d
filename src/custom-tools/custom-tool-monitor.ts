import { Inject, Injectable, Logger } from '@nestjs/common';
import { Deadline } from '../common/deadline.js';
import { Problem } from '../common/errors.js';
import { IntervalLoop } from '../common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { ToolLog } from '../observability/tool-log.js';
import type { PoolStats, Reply } from '../process-pool/pool.types.js';
import type { CustomTool, HealthStatus } from './custom-tool.entity.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { CustomToolRuntimes, type RuntimeEvent } from './custom-tool-runtimes.js';
import { CustomToolsRepository } from './custom-tools.repository.js';

const pingTimeoutMs = 5_000;
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

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
    private readonly runtimes: CustomToolRuntimes,
    private readonly log: ToolLog,
  ) {
    const { healthCheckIntervalMs } = config.customTools;
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
    const backend = this.runtimes.get(name)?.backend;
    const { pids: _pids, ...processes } =
      backend && 'pool' in backend ? backend.pool.stats() : { ...noProcesses, pids: [] };
    return { name, status, healthStatus, lastHealthCheck, errorMessage, processes };
  }

  async checkAll(): Promise<void> {
    const oneFailure = (error: unknown): void => this.logger.error(error);
    for (const tool of await this.repository.list('active')) await this.ping(tool).catch(oneFailure);
    for (const { name } of await this.repository.list('error')) await this.tryAgain(name).catch(oneFailure);
  }

  private async tryAgain(name: string): Promise<void> {
    try {
      await this.manager.recover(name);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      await this.repository.setCondition(name, { errorMessage: error.detail, lastHealthCheck: new Date() });
    }
  }

  private async ping({ name }: CustomTool): Promise<void> {
    const backend = this.runtimes.get(name)?.backend;
    if (!backend || !('pool' in backend)) return;
    const answer = await backend.pool
      .health(Deadline.ofSmallest([pingTimeoutMs]))
      .catch((error: unknown) => error);
    // Meanwhile the tool may have been changed: then the answer is another's.
    if (answer === undefined || this.runtimes.get(name)?.backend !== backend) return;
    const [healthStatus, reason] = verdict(answer);
    const errorMessage = reason === null ? null : backend.redactor.clean(reason);
    this.log.write({ tool: name, event: 'health', ...(errorMessage && { error: healthStatus }) });
    await this.repository.setCondition(name, { healthStatus, errorMessage, lastHealthCheck: new Date() });
  }

  private onPoolEvent(event: RuntimeEvent): void {
    if (event.type !== 'failed' && event.type !== 'recovered') return;
    // Pools of trial runs and of replaced configurations say nothing about the tool.
    const backend = this.runtimes.get(event.pool)?.backend;
    if (!backend || !('pool' in backend) || backend.pool !== event.source) return;
    const condition =
      event.type === 'failed'
        ? ({ status: 'error', healthStatus: 'unhealthy', errorMessage: event.error } as const)
        : ({ status: 'active', healthStatus: 'healthy', errorMessage: null } as const);
    this.repository
      .setCondition(event.pool, { ...condition, lastHealthCheck: new Date() })
      .catch((error: unknown) => this.logger.error(error));
  }
}

/** An answer without a known status is healthy (the tool is alive); -32601 means it has no such method. */
function verdict(answer: unknown): readonly [HealthStatus, string | null] {
  if (answer instanceof Error) return ['unhealthy', answer.message];
  const { reply } = answer as { reply: Reply };
  if ('error' in reply)
    return reply.error.code === -32601 ? ['healthy', null] : ['degraded', reply.error.message];
  const { status, message } = (reply.result ?? {}) as { status?: unknown; message?: unknown };
  if (status === 'degraded' || status === 'unhealthy')
    return [status, typeof message === 'string' ? message : null];
  return ['healthy', null];
}
