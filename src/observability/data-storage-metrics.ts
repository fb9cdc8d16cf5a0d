import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const circuitStates = ['closed', 'open', 'half_open'] as const;
type CircuitState = (typeof circuitStates)[number];

/** How a Data Storage service answers; nothing is counted where none is configured. */
@Injectable()
export class DataStorageMetrics {
  private readonly tries: Counter<'result'>;
  private readonly answers: Counter<'origin'>;
  private readonly durations: Histogram;
  private state: () => CircuitState | undefined = () => undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    this.tries = new Counter({
      name: 'toolkeeper_data_storage_tries_total',
      help: 'Requests to the Data Storage service by what became of them',
      labelNames: ['result'],
      registers,
    });
    this.answers = new Counter({
      name: 'toolkeeper_data_storage_answers_total',
      help: 'Questions to it that were answered: by it (fetched), from memory (kept), from memory because it failed (stale)',
      labelNames: ['origin'],
      registers,
    });
    this.durations = new Histogram({
      name: 'toolkeeper_data_storage_try_duration_seconds',
      help: 'Duration of single requests to it',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
      registers,
    });
    const state = (): CircuitState | undefined => this.state();
    new Gauge({
      name: 'toolkeeper_data_storage_circuit_state',
      help: 'State of the circuit to it: 1 at the state that it has',
      labelNames: ['state'],
      registers,
      collect() {
        this.reset();
        const now = state();
        if (now) for (const one of circuitStates) this.set({ state: one }, one === now ? 1 : 0);
      },
    });
  }

  /** @param result `answered`, or the kind of the failure */
  tried(result: string, seconds: number): void {
    this.tries.inc({ result });
    this.durations.observe(seconds);
  }

  answered(origin: 'fetched' | 'kept' | 'stale'): void {
    this.answers.inc({ origin });
  }

  observe(state: () => CircuitState): void {
    this.state = state;
  }
}
