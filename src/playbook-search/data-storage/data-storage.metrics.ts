import { Injectable } from '@nestjs/common';
import {
  InjectMetric,
  makeCounterProvider,
  makeGaugeProvider,
  makeHistogramProvider,
} from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge, Histogram } from 'prom-client';
import type { CircuitKind } from '../../circuits/breaker/circuit-state.js';
import type { TryReport } from '../../outbound/upstream-calls.js';
import { Contributors } from '../../observability/contributors.js';
import type { AnswerOrigin } from './data-storage-client.js';

const tries = 'toolkeeper_data_storage_tries_total';
const answers = 'toolkeeper_data_storage_answers_total';
const durations = 'toolkeeper_data_storage_try_duration_seconds';
const circuitState = 'toolkeeper_data_storage_circuit_state';

/** How a Data Storage service answers; nothing is counted where none is configured. */
@Injectable()
export class DataStorageMetrics {
  constructor(
    @InjectMetric(tries) private readonly tries: Counter,
    @InjectMetric(answers) private readonly answers: Counter,
    @InjectMetric(durations) private readonly durations: Histogram,
    @InjectMetric(circuitState) private readonly circuitState: Gauge,
    private readonly contributors: Contributors,
  ) {}

  tried({ durationMs, failure }: TryReport): void {
    this.tries.inc({ result: failure?.kind ?? 'answered' });
    this.durations.observe(durationMs / 1_000);
  }

  answered(origin: AnswerOrigin): void {
    this.answers.inc({ origin });
  }

  observe(now: () => CircuitKind): void {
    this.contributors.addSampler(() => {
      const is = now();
      for (const state of ['closed', 'open', 'half_open'])
        this.circuitState.set({ state }, state === is ? 1 : 0);
    });
  }
}

export const dataStorageMetrics = [
  DataStorageMetrics,
  makeCounterProvider({
    name: tries,
    help: 'Requests to the Data Storage service by what became of them',
    labelNames: ['result'],
  }),
  makeCounterProvider({
    name: answers,
    help: 'Questions to it that were answered: by it (fetched), from memory (kept), from memory because it failed (stale)',
    labelNames: ['origin'],
  }),
  makeHistogramProvider({
    name: durations,
    help: 'Duration of single requests to it',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
  }),
  makeGaugeProvider({
    name: circuitState,
    help: 'State of the circuit to it: 1 at the state that it has',
    labelNames: ['state'],
  }),
];
