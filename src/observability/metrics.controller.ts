import { Controller, Get, Header, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Registry } from 'prom-client';

/** Serves this app's own registry; nestjs-prometheus' controller knows only the process-wide one. */
@ApiTags('operations')
@Controller()
export class MetricsController {
  constructor(@Inject(Registry) private readonly registry: Registry) {}

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  @ApiOperation({
    summary: 'Prometheus metrics',
    description: 'Counters and gauges of this process; calls that are under way are not waited for.',
    operationId: 'getMetrics',
  })
  @ApiProduces('text/plain')
  @ApiOkResponse({
    description: 'Text exposition format 0.0.4',
    schema: { type: 'string', example: 'toolkeeper_calls_total{tool="log_summary",status="success"} 42\n' },
  })
  metrics(): Promise<string> {
    return this.registry.metrics();
  }
}
