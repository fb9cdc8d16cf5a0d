import { Module } from '@nestjs/common';
import { CircuitsModule } from '../circuits/circuits.module.js';
import { CLOCK, systemClock } from '../common/clock.js';
import { ToolMetricsModule } from '../records/executions/tool-metrics.module.js';
import { GradeChangesRepository, GradeHistory } from './grade-history.js';
import { HealthEvents } from './health-events.js';
import { HealthWatch } from './health-watch.js';
import { ToolHealthController } from './tool-health.controller.js';
import { ToolHealthService } from './tool-health.service.js';

@Module({
  imports: [CircuitsModule, ToolMetricsModule],
  controllers: [ToolHealthController],
  providers: [
    HealthEvents,
    ToolHealthService,
    GradeChangesRepository,
    GradeHistory,
    HealthWatch,
    { provide: CLOCK, useValue: systemClock },
  ],
  exports: [CircuitsModule, HealthEvents, ToolHealthService],
})
export class ToolHealthModule {}
