import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { IntervalLoop } from '../common/interval-loop.js';
import { CircuitBreakers } from '../circuits/circuit-breakers.js';
import { ToolHealthService } from './tool-health.service.js';

const everyMs = 60_000;

/** Looks at all tools every minute, so that changes are told also while nobody asks. */
@Injectable()
export class HealthWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(HealthWatch.name);
  private readonly loop: IntervalLoop;

  constructor(
    private readonly health: ToolHealthService,
    private readonly circuits: CircuitBreakers,
  ) {
    this.loop = new IntervalLoop(
      () => this.look(),
      everyMs,
      // The database may be away for long: one line is enough.
      (error, again) => again || this.logger.warn(error, 'the health of tools is not watched for now'),
    );
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  private async look(): Promise<void> {
    this.circuits.look();
    await this.health.look();
  }
}
