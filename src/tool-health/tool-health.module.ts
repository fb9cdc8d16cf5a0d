import { Module } from '@nestjs/common';
import { CLOCK, systemClock } from '../common/clock.js';
import { ToolMetricsModule } from '../tool-metrics/tool-metrics.module.js';
import { CircuitBreakers } from './circuit-breakers.js';
import { CircuitEvents } from './circuit-events.js';
import { CircuitHistory, CircuitTransitionsRepository } from './circuit-transitions.repository.js';
import { CircuitPasts } from './circuit-pasts.js';
import { circuitMetrics, CircuitSampler } from './circuit.metrics.js';
import { CircuitsService } from './circuits.service.js';
import { GradeChangesRepository, GradeHistory } from './grade-history.js';
import { HealthEvents } from './health-events.js';
import { HealthWatch } from './health-watch.js';
import { KnownTools } from './known-tools.js';
import { ToolHealthController } from './tool-health.controller.js';
import { ToolHealthService } from './tool-health.service.js';

@Module({
  imports: [ToolMetricsModule],
  controllers: [ToolHealthController],
  providers: [
    KnownTools,
    CircuitEvents,
    CircuitTransitionsRepository,
    CircuitHistory,
    CircuitPasts,
    CircuitBreakers,
    ...circuitMetrics,
    CircuitSampler,
    CircuitsService,
    HealthEvents,
    ToolHealthService,
    GradeChangesRepository,
    GradeHistory,
    HealthWatch,
    { provide: CLOCK, useValue: systemClock },
  ],
  exports: [KnownTools, CircuitBreakers, CircuitEvents, HealthEvents, ToolHealthService],
})
export class ToolHealthModule {}
