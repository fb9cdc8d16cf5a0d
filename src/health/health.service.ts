import { Injectable } from '@nestjs/common';
import { type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { HealthIndicators } from './health.indicators.js';

/** All three throw ServiceUnavailableException with Terminus' body when a part is down. */
@Injectable()
export class HealthService {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly ask: HealthIndicators,
  ) {}

  /** The process answers: nothing else is asked, since a restart would not mend it. */
  live(): Promise<HealthCheckResult> {
    return this.checks.check([]);
  }

  ready(): Promise<HealthCheckResult> {
    return this.checks.check([
      () => this.ask.server(),
      () => this.ask.database(),
      () => this.ask.tools(),
      () => this.ask.sandbox(),
      () => this.ask.recorder(),
      () => this.ask.embeddings(),
    ]);
  }

  started(): Promise<HealthCheckResult> {
    return this.checks.check([() => this.ask.startup()]);
  }
}
