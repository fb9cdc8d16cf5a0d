import {
  Injectable,
  Logger,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import type { AppConfig } from '../../config/app-config.js';
import { Tracer } from '../../observability/tracing/tracer.js';
import { PlaybookCalls } from '../playbook-calls.js';
import { PLAYBOOK_SOURCE, type PlaybookSource } from '../playbook-source.js';
import { DataStorageClient, DataStorageEvents } from './data-storage-client.js';
import { DataStorageMetrics } from './data-storage.metrics.js';

/** Tells the operator when the service is left alone and when it is back, and lets go of it at the end. */
@Injectable()
class DataStorageLink implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(DataStorageLink.name);

  constructor(
    private readonly client: DataStorageClient,
    private readonly events: DataStorageEvents,
    private readonly metrics: DataStorageMetrics,
    private readonly playbookCalls: PlaybookCalls,
  ) {}

  onModuleInit(): void {
    this.metrics.observe(() => this.client.circuitState);
    this.events.answers.subscribe((origin) => {
      this.metrics.answered(origin);
      if (origin === 'stale') this.playbookCalls.usage.hit();
    });
    this.events.circuit.subscribe(({ from, to, reason }) => {
      const entry = { event: 'data_storage_circuit', from, to, reason };
      if (to === 'open')
        this.logger.warn(entry, 'the Data Storage service fails: it is left alone for a while');
      else this.logger.log(entry, 'the circuit to the Data Storage service has moved');
    });
    this.events.tries.subscribe((report) => {
      this.metrics.tried(report);
      const { attempt, failure } = report;
      if (failure)
        this.logger.debug({ event: 'data_storage_try', attempt, kind: failure.kind }, failure.message);
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.client.close();
  }
}

/** Where a Data Storage service is configured, it finds the playbooks. */
export function dataStorageProviders(settings: NonNullable<AppConfig['dataStorage']>): Provider[] {
  return [
    DataStorageEvents,
    {
      provide: DataStorageClient,
      inject: [DataStorageEvents, Tracer],
      useFactory: (events: DataStorageEvents, tracer: Tracer) =>
        new DataStorageClient(settings, events, tracer),
    },
    { provide: PLAYBOOK_SOURCE, inject: [DataStorageClient], useFactory: sourceOf },
    DataStorageLink,
  ];
}

const sourceOf = (client: DataStorageClient): PlaybookSource => ({
  kind: 'data_storage',
  longestMs: client.longestMs,
  // The service does not say when its catalogue changes: time alone makes its answers old.
  revision: '',
  search: (search, signal) => client.searchPlaybooks(search, signal),
});
