import { type DynamicModule, Global, Module } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { collectDefaultMetrics, register, Registry } from 'prom-client';
import { CallMetrics } from './call-metrics.js';
import { CircuitMetrics } from './circuit-metrics.js';
import { Contributors } from './contributors.js';
import { DataStorageMetrics } from './data-storage-metrics.js';
import { EmbeddingMetrics } from './embedding-metrics.js';
import { MetricsController } from './metrics.controller.js';
import { PartitionMetrics } from './partition-metrics.js';
import { PlaybookMetrics } from './playbook-metrics.js';
import { RecorderMetrics } from './recorder-metrics.js';
import { RepetitionMetrics } from './repetition-metrics.js';
import { WebhookMetrics } from './webhook-metrics.js';

const metrics = [
  CallMetrics,
  CircuitMetrics,
  DataStorageMetrics,
  EmbeddingMetrics,
  PartitionMetrics,
  PlaybookMetrics,
  RecorderMetrics,
  RepetitionMetrics,
  WebhookMetrics,
];

@Module({ providers: [Contributors], exports: [Contributors] })
export class ContributorsModule {}

/** /metrics. Each room declares its own metrics by nestjs-prometheus' providers, which stand in prom-client's registry. */
@Global()
@Module({})
export class MetricsModule {
  static forRoot(): DynamicModule {
    // A server begins with an empty registry: tests start several in one process, one after the other.
    register.clear();
    collectDefaultMetrics();
    // promtool refuses gauges that end in `_total`.
    for (const kind of ['resources', 'handles', 'requests']) {
      register.removeSingleMetric(`nodejs_active_${kind}_total`);
    }
    return {
      module: MetricsModule,
      imports: [
        ContributorsModule,
        PrometheusModule.register({
          path: '/metrics',
          controller: MetricsController,
          defaultMetrics: { enabled: false },
        }),
      ],
      providers: [{ provide: Registry, useValue: register }, ...metrics],
      exports: [ContributorsModule, Registry, ...metrics],
    };
  }
}
