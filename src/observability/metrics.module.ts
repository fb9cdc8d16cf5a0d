import { Global, Module } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { CallMetrics } from './call-metrics.js';
import { CircuitMetrics } from './circuit-metrics.js';
import { DataStorageMetrics } from './data-storage-metrics.js';
import { EmbeddingMetrics } from './embedding-metrics.js';
import { MetricsController } from './metrics.controller.js';
import { PartitionMetrics } from './partition-metrics.js';
import { PlaybookMetrics } from './playbook-metrics.js';
import { ProcessMetrics } from './process-metrics.js';
import { RecorderMetrics } from './recorder-metrics.js';
import { RepetitionMetrics } from './repetition-metrics.js';
import { SpawnerMetrics } from './spawner-metrics.js';
import { WebhookMetrics } from './webhook-metrics.js';

const metrics = [
  CallMetrics,
  CircuitMetrics,
  DataStorageMetrics,
  EmbeddingMetrics,
  PartitionMetrics,
  PlaybookMetrics,
  ProcessMetrics,
  RecorderMetrics,
  RepetitionMetrics,
  SpawnerMetrics,
  WebhookMetrics,
];

/** Every app has its own registry: several can live in one process, as they do in tests. */
@Global()
@Module({
  imports: [
    PrometheusModule.register({
      path: '/metrics',
      controller: MetricsController,
      defaultMetrics: { enabled: false },
    }),
  ],
  providers: [{ provide: Registry, useFactory: createRegistry }, ...metrics],
  exports: [Registry, ...metrics],
})
export class MetricsModule {}

/** A registry with Node's own metrics, without the gauges that end in `_total`: promtool refuses those. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const kind of ['resources', 'handles', 'requests']) {
    registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  return registry;
}
