import { Controller, Get, UseFilters } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { HealthCheck, type HealthCheckResult } from '@nestjs/terminus';
import { Public } from '../auth/scopes.decorator.js';
import { HealthService } from './health.service.js';
import { ProbeFilter } from './probe.filter.js';

@ApiTags('operations')
@UseFilters(ProbeFilter)
@Controller()
export class HealthController {
  constructor(private readonly service: HealthService) {}

  @Get('livez')
  @Public()
  @HealthCheck()
  @ApiOperation({ summary: 'The process answers', operationId: 'livez' })
  live(): Promise<HealthCheckResult> {
    return this.service.live();
  }

  @Get('readyz')
  @Public()
  @HealthCheck()
  @ApiOperation({ summary: 'New calls are taken: database, tools, not draining', operationId: 'readyz' })
  ready(): Promise<HealthCheckResult> {
    return this.service.ready();
  }

  @Get('startupz')
  @Public()
  @HealthCheck()
  @ApiOperation({ summary: 'The work of the start is done', operationId: 'startupz' })
  started(): Promise<HealthCheckResult> {
    return this.service.started();
  }
}
