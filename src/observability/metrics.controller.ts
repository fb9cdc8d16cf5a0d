import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { register, Registry } from 'prom-client';
import { Contributors } from './contributors.js';

/** Serves the registry after every room has set its gauges. */
@ApiTags('operations')
@Controller()
export class MetricsController {
  constructor(private readonly contributors: Contributors) {}

  @Get()
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
