import { Module } from '@nestjs/common';
import { CLOCK, systemClock } from '../common/clock.js';
import { ToolMetricsModule } from '../tool-metrics/tool-metrics.module.js';
import { CircuitBreakers, RANDOM } from './circuit-breakers.js';
import { KnownTools } from './known-tools.js';
import { ToolHealthController } from './tool-health.controller.js';
import { ToolHealthService } from './tool-health.service.js';

@Module({
  imports: [ToolMetricsModule],
  controllers: [ToolHealthController],
  providers: [
    KnownTools,
    CircuitBreakers,
    ToolHealthService,
    { provide: CLOCK, useValue: systemClock },
    { provide: RANDOM, useValue: Math.random },
  ],
  exports: [KnownTools, CircuitBreakers, ToolHealthService],
})
export class ToolHealthModule {}
