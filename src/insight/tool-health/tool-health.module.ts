import { Logger, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CircuitBreakers } from '../../call/circuits/circuit-breakers.js';
import { CircuitsModule } from '../../call/circuits/circuits.module.js';
import { CLOCK, systemClock } from '../../base/common/clock.js';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { Replicas } from '../../base/database/replicas.js';
import { ToolMetricsModule } from '../../records/executions/tool-metrics.module.js';
import { GradeHistory, StoredGrades } from './grade-history.js';
import { HealthEvents, ToolHealthService } from './tool-health.service.js';
import { RecentCalls } from './recent-calls.js';
import { ToolHealthController } from './tool-health.controller.js';

/** Interval at which grades and circuits are updated. */
const updateEveryMs = 60_000;

/** Grades tools. All grades and circuits are updated each minute, so that changes are emitted without requests. */
@Module({
  imports: [CircuitsModule, ToolMetricsModule],
  controllers: [ToolHealthController],
  providers: [
    HealthEvents,
    RecentCalls,
    ToolHealthService,
    StoredGrades,
    GradeHistory,
    { provide: CLOCK, useValue: systemClock },
  ],
  exports: [CircuitsModule, ToolMetricsModule, HealthEvents, StoredGrades, ToolHealthService],
})
export class ToolHealthModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: IntervalLoop;

  constructor(health: ToolHealthService, circuits: CircuitBreakers, replicas: Replicas) {
    const logger = new Logger(ToolHealthModule.name);
    this.loop = new IntervalLoop(
      async () => {
        circuits.update();
        if (replicas.keepsHouse) await health.updateGrades();
      },
      updateEveryMs,
      (error, again) => {
        // Logged once, because the database may be unavailable for long.
        if (!again) logger.warn(error, 'the health of tools is not watched for now');
      },
    );
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
