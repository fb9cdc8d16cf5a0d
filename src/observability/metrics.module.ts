import { type DynamicModule, Global, Module } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { collectDefaultMetrics, register, Registry } from 'prom-client';
import { Contributors } from './contributors.js';
import { MetricsController } from './metrics.controller.js';
import { ProcessMetrics } from './process-metrics.js';
import { SpawnerMetrics } from './spawner-metrics.js';

const metrics = [ProcessMetrics, SpawnerMetrics];

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
