import { Injectable } from '@nestjs/common';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import type { CircuitKind } from './breaker/circuit-state.js';
import { Contributors } from '../observability/contributors.js';
import { CircuitBreakers } from './circuit-breakers.js';
import { KnownTools } from './known-tools.js';

const stateName = 'toolkeeper_circuit_state';
const transitionsName = 'toolkeeper_circuit_transitions_total';
const kinds: readonly CircuitKind[] = ['closed', 'open', 'half_open'];

export const circuitMetrics = [
  makeGaugeProvider({
    name: stateName,
    help: 'State of a circuit: 1 at the state that it has',
    labelNames: ['tool', 'state'],
  }),
  makeCounterProvider({
    name: transitionsName,
    help: 'Changes of a circuit, by the state that it went into',
    labelNames: ['tool', 'to'],
  }),
];

/** Shows the circuits of registered tools, which bound the label's values, as they are at a scrape. */
@Injectable()
export class CircuitSampler {
  constructor(
    contributors: Contributors,
    private readonly knownTools: KnownTools,
    private readonly circuits: CircuitBreakers,
    @InjectMetric(stateName) private readonly state: Gauge,
    @InjectMetric(transitionsName) private readonly transitions: Counter,
  ) {
    contributors.addSampler(() => this.sample());
  }

  private sample(): void {
    this.state.reset();
    this.transitions.reset();
    for (const tool of this.knownTools.names()) {
      const { breaker, transitions } = this.circuits.find(tool);
      const { kind } = breaker.current();
      for (const one of kinds) {
        this.state.set({ tool, state: one }, one === kind ? 1 : 0);
        this.transitions.inc({ tool, to: one }, transitions[one]);
      }
    }
  }
}
