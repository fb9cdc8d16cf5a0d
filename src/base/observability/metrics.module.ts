import { Controller, type DynamicModule, Get, Global, Header, Module } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { collectDefaultMetrics, register, Registry } from 'prom-client';
import { Contributors } from './contributors.js';

/** Serves the metrics after all samplers have set their gauges. */
@ApiTags('operations')
@Controller()
class MetricsController {
  constructor(private readonly contributors: Contributors) {}

  @Get()
  @RouteConfig({ scopes: ['metrics:read'] })
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  @ApiOperation({
    summary: 'Prometheus metrics',
    description: 'Counters and gauges of this process; calls that are under way are not waited for.',
  })
  @ApiProduces('text/plain')
  @ApiOkResponse({
    description: 'Text exposition format 0.0.4',
    schema: { type: 'string', example: 'toolkeeper_calls_total{tool="log_summary",status="success"} 42\n' },
  })
  getMetrics(): Promise<string> {
    this.contributors.sample();
    return register.metrics();
  }
}

/** Serves /metrics. Each module declares its metrics with nestjs-prometheus' providers. */
@Global()
@Module({})
export class MetricsModule {
  static forRoot(): DynamicModule {
    // Cleared, because tests start several servers in one process.
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

/** A separate module, because nestjs-prometheus' module registers the controller of /metrics. */
@Global()
@Module({ providers: [Contributors], exports: [Contributors] })
class ContributorsModule {}
