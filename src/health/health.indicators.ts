import { Inject, Injectable, Logger } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { Lifecycle } from '../common/lifecycle.js';
import { StartupWork } from '../common/startup-work.js';
import { DatabaseHealth } from '../database/database-health.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { RecorderMetrics } from '../observability/recorder-metrics.js';
import { PlaybookEmbeddings } from '../playbook-search/embeddings/playbook-embeddings.js';
import { Sandbox } from '../sandbox/sandbox.js';
import { ExecutionRecorder } from '../tool-metrics/execution-recorder.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import { gradeRecorder } from './recorder-readiness.js';

const pingTimeoutMs = 2_000;

/** What the probes ask. Each answers for itself and never throws. */
@Injectable()
export class HealthIndicators {
  private readonly logger = new Logger(HealthIndicators.name);

  constructor(
    private readonly health: HealthIndicatorService,
    private readonly lifecycle: Lifecycle,
    private readonly startupWork: StartupWork,
    private readonly databaseHealth: DatabaseHealth,
    private readonly registry: ToolRegistry,
    private readonly sandboxOfHost: Sandbox,
    private readonly executionRecorder: ExecutionRecorder,
    private readonly recorderMetrics: RecorderMetrics,
    private readonly playbookEmbeddings: PlaybookEmbeddings,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  /** Up while new calls are taken. */
  server(): HealthIndicatorResult {
    const { state } = this.lifecycle;
    const indicator = this.health.check('server');
    return state === 'ready' ? indicator.up({ state }) : indicator.down({ state });
  }

  async database(): Promise<HealthIndicatorResult> {
    return this.health
      .check('database')
      .attempt(() => this.pingDatabase())
      .withTimeout(pingTimeoutMs + 500);
  }

  /** Up as soon as every tool that was to be loaded has been tried; one that failed does not hold the others back. */
  tools(): HealthIndicatorResult {
    const indicator = this.health.check('tools');
    const data = { registered: this.registry.size };
    return this.startupWork.isSettled()
      ? indicator.up(data)
      : indicator.down({ ...data, message: 'still loading' });
  }

  /** Never down: tools without a sandbox are the operator's choice, but nobody shall overlook it. */
  sandbox(): HealthIndicatorResult {
    const { enabled, tier, policy } = this.sandboxOfHost.status;
    const indicator = this.health.check('sandbox');
    const data = { enabled, tier, policy };
    if (!enabled || tier === 0)
      return indicator.degraded({ ...data, message: 'tools run without a sandbox' });
    return indicator.up(data);
  }

  /** Down while calls are refused because their records cannot be promised. */
  recorder(): HealthIndicatorResult {
    const indicator = this.health.check('recorder');
    const state = this.executionRecorder.state();
    const { damagedLines, lastWriteFailureAt } = this.recorderMetrics;
    const writeFailedAgoMs = Date.now() - lastWriteFailureAt;
    const { depth, oldestMs, bytes, dropped } = state;
    const data = { depth, oldestMs, bytes, dropped, damagedLines };
    const grade = gradeRecorder({
      ...state,
      damagedLines,
      writeFailedAgoMs,
      whenFull: this.config.recorder.whenFull,
    });
    if (grade.status === 'up') return indicator.up(data);
    const more = { ...data, message: grade.message };
    return grade.status === 'down' ? indicator.down(more) : indicator.degraded(more);
  }

  /** Never down: without vectors playbooks are searched by words. */
  embeddings(): HealthIndicatorResult {
    const { provider, vectors, degraded } = this.playbookEmbeddings.state();
    const indicator = this.health.check('embeddings');
    const data = { provider, vectors };
    return degraded === undefined ? indicator.up(data) : indicator.degraded({ ...data, message: degraded });
  }

  /** Degraded, not down, when a part of the start work failed. */
  startup(): HealthIndicatorResult {
    const parts = this.startupWork.view();
    const indicator = this.health.check('startup');
    if (this.lifecycle.state === 'starting' || !this.startupWork.isSettled())
      return indicator.down({ parts });
    const failed = Object.values(parts).includes('failed');
    return failed ? indicator.degraded({ parts }) : indicator.up({ parts });
  }

  /** Probes answer everybody: the reason, which names hosts and users, is for the log only. */
  private async pingDatabase(): Promise<void> {
    try {
      await this.databaseHealth.ping(pingTimeoutMs);
    } catch (error) {
      this.logger.warn(error, 'readiness: the database does not answer');
      throw new Error('does not answer', { cause: error });
    }
  }
}
