import { Module } from '@nestjs/common';
import { CLOCK, systemClock } from '../common/clock.js';
import { ToolMetricsModule } from '../records/executions/tool-metrics.module.js';
import { CircuitBreakers } from './circuit-breakers.js';
import { CircuitEvents } from './circuit-events.js';
import { CircuitHistory, CircuitTransitionsRepository } from './circuit-transitions.repository.js';
import { CircuitPasts } from './circuit-pasts.js';
import { circuitMetrics, CircuitSampler } from './circuit.metrics.js';
import { CircuitsService } from './circuits.service.js';
import { KnownTools } from './known-tools.js';

@Module({
  imports: [ToolMetricsModule],
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
    { provide: CLOCK, useValue: systemClock },
  ],
  exports: [KnownTools, CircuitBreakers, CircuitEvents, CircuitHistory, CircuitPasts, CircuitsService],
})
export class CircuitsModule {}
