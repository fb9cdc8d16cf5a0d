import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Module,
  ServiceUnavailableException,
  UseFilters,
} from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, TerminusModule } from '@nestjs/terminus';
import { HealthService } from './health.service.js';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentPrincipal, type Principal } from '../../web/auth/principal.decorator.js';
import { Public, Scopes } from '../../web/auth/scopes.decorator.js';
import { FleetBarrier } from '../../base/database/fleet-barrier.js';
import { type Replica, Replicas } from '../../base/database/replicas.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { NullableText } from '../../web/rest/dto.js';

/** A part of a replica that is not well. */
class TroubledPartView {
  @ApiProperty({ example: 'recorder' }) readonly part!: string;
  @ApiProperty({ enum: ['degraded', 'down'], example: 'degraded' }) readonly status!: string;
  @NullableText('records wait for the database for 40 s') readonly message!: string | null;
}

class JournalLagView {
  @ApiProperty({ example: 0, description: 'Records that wait for the database' }) readonly depth!: number;
  @ApiProperty({ example: 0, description: 'Milliseconds that the oldest of them waits' })
  readonly oldestMs!: number;
}

/** A replica as of its last heartbeat. */
export class ReplicaView {
  @ApiProperty({ example: 'gateway-2:17:mhq3k2x1' }) readonly id!: string;
  @ApiProperty({ example: 'gateway-2:3000', description: 'Host and port' }) readonly name!: string;
  @ApiProperty({ example: 'gateway-2' }) readonly host!: string;
  @ApiProperty({ example: '1.4.0' }) readonly version!: string;
  @NullableText('http://10.0.3.7:3000', 'Where other replicas reach it') readonly address!: string | null;
  @ApiProperty({ type: Number, nullable: true, example: 3, description: 'Tier of its sandbox' })
  readonly tier!: number | null;
  @ApiProperty({ example: false, description: 'Whether it is the one that answers' }) readonly self!: boolean;
  @ApiProperty({ type: String, format: 'date-time', example: '2026-01-23T10:30:00.000Z' })
  readonly startedAt!: Date;
  @ApiProperty({ type: String, format: 'date-time', example: '2026-01-23T10:30:00.000Z' })
  readonly seenAt!: Date;
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly silentSince!: Date | null;
  @ApiProperty({ type: JournalLagView }) readonly journal!: JournalLagView;
  @ApiProperty({ type: [TroubledPartView] }) readonly troubles!: TroubledPartView[];
}

export class ReplicaListView {
  @ApiProperty({ type: [ReplicaView], description: 'Oldest first' }) readonly data!: ReplicaView[];
}

/** @param silent ids of those that did not answer just now */
export function replicaView(
  { parts, ...replica }: Replica,
  self: string,
  silent: ReadonlySet<string>,
): ReplicaView {
  const { depth = 0, oldestMs = 0 } = (parts['recorder'] ?? {}) as Partial<JournalLagView>;
  const troubles = Object.entries(parts)
    .filter(([, { status }]) => status !== 'up')
    .map(([part, { status, message = null }]) => ({ part, status, message }));
  const silentSince = silent.has(replica.id) ? replica.seenAt : replica.silentSince;
  return { ...replica, silentSince, self: replica.id === self, journal: { depth, oldestMs }, troubles };
}

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

@Module({
  // Terminus would log every failed probe as an error; the body says enough.
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [HealthService],
})
export class HealthModule {}
