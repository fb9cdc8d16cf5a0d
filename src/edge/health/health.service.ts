import { Inject, Injectable } from '@nestjs/common';
import {
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { StartupWork } from '../../base/common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Contributors, type PartHealth } from '../../base/observability/contributors.js';

/** The probes. All three throw ServiceUnavailableException with Terminus' body when a part is down. */
@Injectable()
export class HealthService {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly lifecycle: Lifecycle,
    private readonly startupWork: StartupWork,
    private readonly contributors: Contributors,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'version'>,
  ) {}

  /** The process answers: nothing else is asked, since a restart would not mend it. */
  live(): Promise<HealthCheckResult> {
    return this.checks.check([]);
  }

  /**
   * Ready while new calls are taken, once every part of the start was tried, and while no room says it is down.
   * @param detailed says of each part more than its status: what the sandbox is, for example, is not for everybody
   */
  ready(detailed: boolean): Promise<HealthCheckResult> {
    const rooms = [...this.contributors.health()];
    return this.checks.check([
      () => this.indicate('server', this.server(), detailed),
      ...rooms.map(
        ([part, check]) =>
          async () =>
            this.indicate(part, await check(), detailed),
      ),
    ]);
  }

  started(): Promise<HealthCheckResult> {
    return this.checks.check([() => this.indicate('startup', this.startup())]);
  }

  private server(): PartHealth {
    const { state } = this.lifecycle;
    return { status: state === 'ready' ? 'up' : 'down', state, version: this.config.version };
  }

  /** Degraded, not down, when a part of the start work failed: the rest can serve. */
  private startup(): PartHealth {
    const parts = this.startupWork.view();
    const message = this.startupWork.progress?.();
    const shown = { parts, ...(message !== undefined && { message }) };
    if (this.lifecycle.state === 'starting' || !this.startupWork.isSettled())
      return { status: 'down', ...shown };
    return { status: Object.values(parts).includes('failed') ? 'degraded' : 'up', ...shown };
  }

  private indicate(part: string, { status, ...details }: PartHealth, detailed = true): HealthIndicatorResult {
    const indicator = this.indicators.check(part);
    const data = detailed ? details : {};
    if (status === 'up') return indicator.up(data);
    return status === 'down' ? indicator.down(data) : indicator.degraded(data);
  }
}
