import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  ServiceUnavailableException,
  UseFilters,
} from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { HealthCheck, type HealthCheckResult } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { CurrentPrincipal, type Principal } from '../../web/auth/principal.decorator.js';
import { Public, Scopes } from '../../web/auth/scopes.decorator.js';
import { FleetBarrier } from '../../base/database/fleet-barrier.js';
import { Replicas } from '../../base/database/replicas.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { HealthService } from './health.service.js';
import { ReplicaListView, replicaView } from './replicas.dto.js';

/** A failed probe answers Terminus' own body: it is what Kubernetes' events and dashboards show. */
@Catch(ServiceUnavailableException)
class ProbeFilter implements ExceptionFilter<ServiceUnavailableException> {
  catch(exception: ServiceUnavailableException, host: ArgumentsHost): void {
    void host
      .switchToHttp()
      .getResponse<FastifyReply>()
      .status(exception.getStatus())
      .send(exception.getResponse());
  }
}

@ApiTags('operations')
@UseFilters(ProbeFilter)
@Controller()
export class HealthController {
  constructor(
    private readonly service: HealthService,
    private readonly replicas: Replicas,
    private readonly barrier: FleetBarrier,
  ) {}

  @Get('livez')
  @Public()
  @HealthCheck()
  @ApiOperation({
    summary: 'The process answers',
    description:
      'For liveness probes: no dependency is asked, so that a database that is away restarts nothing.',
  })
  livez(): Promise<HealthCheckResult> {
    return this.service.live();
  }

  @Get('readyz')
  @Public()
  @HealthCheck()
  @ApiOperation({
    summary: 'New calls are taken: tools, journal, not draining',
    description:
      'For readiness probes: 503 while the server starts, drains, does not know its tools or can record no call; the details name each part and what is degraded, and say more to the scope `tools:admin`.',
  })
  readyz(@CurrentPrincipal() { scopes }: Principal): Promise<HealthCheckResult> {
    return this.service.ready(scopes.has('tools:admin'));
  }

  @Get('startupz')
  @Public()
  @HealthCheck()
  @ApiOperation({
    summary: 'The work of the start is done',
    description:
      'For startup probes: 503 until the custom tools are known and the catalogue is imported; a part that failed is named and degrades. Tools are loaded afterwards, or when they are called: the message says how many are.',
  })
  startupz(): Promise<HealthCheckResult> {
    return this.service.started();
  }

  @Get('api/v1/replicas')
  @Scopes('tools:admin')
  @ApiOperation({
    summary: 'List the replicas that serve on this database',
    description:
      'Each with its version, sandbox tier, journal and what is not well, as of its last heartbeat. One that does not answer through the database within two seconds is `silentSince` its last heartbeat; it may still serve. It is listed for an hour, unless it has stopped or another one has taken its address.',
  })
  @ApiOkResponse({ type: ReplicaListView })
  @ApiProblems('database_unavailable', 'unauthorized', 'forbidden')
  async listReplicas(): Promise<ReplicaListView> {
    const [all, missing] = await Promise.all([this.replicas.all(), this.barrier.pass()]);
    const silent = new Set(missing.map(({ id }) => id));
    return { data: all.map((replica) => replicaView(replica, this.replicas.id, silent)) };
  }
}
