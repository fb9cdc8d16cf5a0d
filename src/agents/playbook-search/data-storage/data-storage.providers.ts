import { counter, gauge, histogram } from '../../../base/observability/metrics.js';
import { Injectable, Logger, type Provider } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge, Histogram } from 'prom-client';
import type { CircuitChange } from '../../../base/outbound/breaker/circuit-state.js';
import type { AppConfig } from '../../../base/config/app-config.js';
import { Contributors } from '../../../base/observability/contributors.js';
import { Tracer } from '../../../base/observability/tracing/tracer.js';
import type { TryReport } from '../../../base/outbound/upstream-calls.js';
import { PlaybookCalls } from '../playbook-calls.js';
import { PLAYBOOK_SOURCE, type PlaybookSource } from '../playbook-source.js';
import { type AnswerOrigin, DataStorageClient, type DataStorageObserver } from './data-storage-client.js';

const triesMetric = 'toolkeeper_data_storage_tries_total';
const answersMetric = 'toolkeeper_data_storage_answers_total';
const durationsMetric = 'toolkeeper_data_storage_try_duration_seconds';
const circuitStateMetric = 'toolkeeper_data_storage_circuit_state';

/** Counts the requests to the service and their answers, and logs changes of the circuit. */
@Injectable()
class DataStorageReport implements DataStorageObserver {
  private readonly logger = new Logger('DataStorage');

  constructor(
    private readonly playbookCalls: PlaybookCalls,
    private readonly contributors: Contributors,
    @InjectMetric(triesMetric) private readonly tries: Counter,
    @InjectMetric(answersMetric) private readonly answers: Counter,
    @InjectMetric(durationsMetric) private readonly durations: Histogram,
    @InjectMetric(circuitStateMetric) private readonly circuitState: Gauge,
  ) {}

  /** Reports the client's circuit as a metric. @returns the client */
  observe(client: DataStorageClient): DataStorageClient {
    this.contributors.addSampler(() => {
      for (const state of ['closed', 'open', 'half_open'])
        this.circuitState.set({ state }, state === client.circuitState ? 1 : 0);
    });
    return client;
  }

  tried({ attempt, durationMs, failure }: TryReport): void {
    this.tries.inc({ result: failure?.kind ?? 'answered' });
    this.durations.observe(durationMs / 1_000);
    if (failure)
      this.logger.debug({ event: 'data_storage_try', attempt, kind: failure.kind }, failure.message);
  }

  answered(origin: AnswerOrigin): void {
    this.answers.inc({ origin });
    // A stale answer comes from a cache as well.
    if (origin === 'stale') this.playbookCalls.usage.addHit();
  }

  circuitChanged({ from, to, reason }: CircuitChange): void {
    const entry = { event: 'data_storage_circuit', from, to, reason };
    if (to === 'open')
      this.logger.warn(entry, 'the Data Storage service fails: no requests are sent for a while');
    else this.logger.log(entry, 'the circuit of the Data Storage service has changed');
  }
}

/** The Data Storage service as the source of playbooks, if it is configured. */
export const dataStorageProviders = (settings: NonNullable<AppConfig['dataStorage']>): Provider[] => [
  DataStorageReport,
  {
    provide: DataStorageClient,
    inject: [DataStorageReport, Tracer],
    useFactory: (report: DataStorageReport, tracer: Tracer) =>
      report.observe(new DataStorageClient(settings, report, tracer)),
  },
  { provide: PLAYBOOK_SOURCE, inject: [DataStorageClient], useFactory: sourceOf },
];

const sourceOf = (client: DataStorageClient): PlaybookSource => ({
  kind: 'data_storage',
  maxMs: client.maxMs,
  // The service does not announce changes, so its answers expire only by time.
  revision: '',
  search: (search, signal) => client.searchPlaybooks(search, signal),
});

export const dataStorageMetrics = [
  counter(triesMetric, 'Attempts of requests to the Data Storage service, by result', 'result'),
  counter(
    answersMetric,
    'Requests to the Data Storage service that were answered: by it (fetched), or from the cache because it failed (stale)',
    'origin',
  ),
  histogram(
    durationsMetric,
    'Duration of attempts of requests to the Data Storage service',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
  ),
  gauge(
    circuitStateMetric,
    'State of the circuit of the Data Storage service: 1 for the present state, else 0',
    'state',
  ),
];
