import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';

const states = ['closed', 'open', 'half_open'] as const;

/** One tool's circuit at this moment, and how often it went into each state since the start. */
export interface CircuitSampleOfTool {
  readonly tool: string;
  readonly state: (typeof states)[number];
  readonly transitions: Readonly<Partial<Record<(typeof states)[number], number>>>;
}

/** The circuits; asked of their owner when somebody scrapes. */
@Injectable()
export class CircuitMetrics {
  private source: () => Iterable<CircuitSampleOfTool> = () => [];

  constructor(registry: Registry) {
    const sample = (): Iterable<CircuitSampleOfTool> => this.source();
    new Gauge({
      name: 'toolkeeper_circuit_state',
      help: 'State of a circuit: 1 at the state that it has',
      labelNames: ['tool', 'state'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { tool, state } of sample()) {
          for (const one of states) this.set({ tool, state: one }, one === state ? 1 : 0);
        }
      },
    });
    new Counter({
      name: 'toolkeeper_circuit_transitions_total',
      help: 'Changes of a circuit, by the state that it went into',
      labelNames: ['tool', 'to'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { tool, transitions } of sample()) {
          for (const to of states) this.inc({ tool, to }, transitions[to] ?? 0);
        }
      },
    });
  }

  observe(source: () => Iterable<CircuitSampleOfTool>): void {
    this.source = source;
  }
}
