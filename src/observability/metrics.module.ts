import { type DynamicModule, Global, Module } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { collectDefaultMetrics, register } from 'prom-client';
import { Contributors } from './contributors.js';
import { MetricsController } from './metrics.controller.js';

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
      exports: [ContributorsModule],
    };
  }
}

/** A module of its own, because the controller of /metrics stands in nestjs-prometheus' module. */
@Global()
@Module({ providers: [Contributors], exports: [Contributors] })
class ContributorsModule {}
