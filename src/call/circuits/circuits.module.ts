import { counter, gauge } from '../../base/observability/metrics.js';
import { Module } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { CLOCK, systemClock } from '../../base/common/clock.js';
import { Contributors } from '../../base/observability/contributors.js';
import { ToolMetricsModule } from '../../records/executions/tool-metrics.module.js';
import type { CircuitKind } from '../../base/outbound/breaker/circuit-state.js';
import { FleetCircuits } from './fleet-circuits.js';
import { CircuitBreakers } from './circuit-breakers.js';
import {
  CircuitEvents,
  CircuitHistories,
  CircuitTransitionsRepository,
} from './circuit-transitions.repository.js';
import { CircuitsController } from './circuits.controller.js';
import { CircuitsService } from './circuits.service.js';
import { KnownTools } from './known-tools.js';

const stateName = 'toolkeeper_circuit_state';
const transitionsName = 'toolkeeper_circuit_transitions_total';
const kinds: readonly CircuitKind[] = ['closed', 'open', 'half_open'];

/** The circuits of all tools, their routes and metrics. */
@Module({
  imports: [ToolMetricsModule],
  controllers: [CircuitsController],
  providers: [
    KnownTools,
    CircuitEvents,
    CircuitTransitionsRepository,
    CircuitHistories,
    CircuitBreakers,
    FleetCircuits,
    CircuitsService,
    { provide: CLOCK, useValue: systemClock },
    gauge(stateName, 'State of a circuit: 1 at the state that it has', 'tool', 'state'),
    counter(transitionsName, 'Changes of a circuit, by the state that it went into', 'tool', 'to'),
  ],
  exports: [KnownTools, CircuitBreakers, CircuitEvents, CircuitsService],
})
export class CircuitsModule {
  /** The circuits of registered tools, which bound the label's values, are sampled at each scrape. */
  constructor(
    contributors: Contributors,
    knownTools: KnownTools,
    circuits: CircuitBreakers,
    @InjectMetric(stateName) stateGauge: Gauge,
    @InjectMetric(transitionsName) changes: Counter,
  ) {
    contributors.addSampler(() => {
      stateGauge.reset();
      changes.reset();
      for (const tool of knownTools.names()) {
        const { breaker, transitions } = circuits.find(tool);
        const { kind } = breaker.current();
        for (const state of kinds) {
          stateGauge.set({ tool, state }, state === kind ? 1 : 0);
          changes.inc({ tool, to: state }, transitions[state]);
        }
      }
    });
  }
}
