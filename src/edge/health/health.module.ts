import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Module,
  ServiceUnavailableException,
  UseFilters,
  Inject,
  Injectable,
} from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  TerminusModule,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentPrincipal, type Principal } from '../../web/auth/principal.decorator.js';
import { Public, Scopes } from '../../web/auth/scopes.decorator.js';
import { FleetBarrier } from '../../base/database/fleet-barrier.js';
import { type Replica, Replicas } from '../../base/database/replicas.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import {
  Example,
  Many,
  Moment,
  NullableMoment,
  NullableNumber,
  NullableText,
  OneOfThese,
} from '../../web/rest/dto.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { StartupWork } from '../../base/common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Contributors, type PartHealth } from '../../base/observability/contributors.js';

/** The probes. All three throw ServiceUnavailableException with Terminus' body when a part is down. */
@Injectable()
export class HealthService {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly lifecycle: Lifecycle,
    private readonly startupWork: StartupWork,
    private readonly contributors: Contributors,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'version'>,
  ) {}

  /** Liveness. It checks nothing but the process itself, because a restart would not mend anything else. */
  live(): Promise<HealthCheckResult> {
    return this.checks.check([]);
  }

  /**
   * Readiness: the start work is over, new calls are accepted, and no part is down.
   * @param detailed whether to include details of the parts, which are for administrators
   */
  ready({ detailed }: { detailed: boolean }): Promise<HealthCheckResult> {
    const indicate = (part: string, health: PartHealth): HealthIndicatorResult =>
      this.indicate(part, detailed ? health : { status: health.status });
    const checks = [...this.contributors.health()].map(([part, check]) => {
      return async () => indicate(part, await check());
    });
    return this.checks.check([() => indicate('server', this.serverHealth()), ...checks]);
  }

  /** Startup: the start work is over. */
  started(): Promise<HealthCheckResult> {
    return this.checks.check([() => this.indicate('startup', this.startupHealth())]);
  }

  /** Up while new calls are accepted. */
  private serverHealth(): PartHealth {
    const { state } = this.lifecycle;
    return { status: state === 'ready' ? 'up' : 'down', state, version: this.config.version };
  }

  /** Degraded, not down, if some start work failed: the other parts can serve. */
  private startupHealth(): PartHealth {
    const parts = this.startupWork.view();
    const message = this.startupWork.progress?.();
    const shown = { parts, ...(message !== undefined && { message }) };
    if (this.lifecycle.state === 'starting' || !this.startupWork.isSettled())
      return { status: 'down', ...shown };
    return { status: Object.values(parts).includes('failed') ? 'degraded' : 'up', ...shown };
  }

  /** A part's health as Terminus reports it. */
  private indicate(part: string, { status, ...details }: PartHealth): HealthIndicatorResult {
    const indicator = this.indicators.check(part);
    if (status === 'up') return indicator.up(details);
    return status === 'down' ? indicator.down(details) : indicator.degraded(details);
  }
}

/** A part of a replica that is degraded or down. */
class TroubledPartView {
  @Example('recorder') readonly part!: string;
  @OneOfThese(['degraded', 'down'], 'degraded') readonly status!: string;
  @NullableText('records wait for the database for 40 s') readonly message!: string | null;
}

/** Records of a replica that are not in the database yet. */
class JournalLagView {
  @Example(0, 'Records that wait for the database') readonly depth!: number;
  @Example(0, 'Milliseconds for which the oldest of them has waited') readonly oldestMs!: number;
}

/** A replica as of its last heartbeat. */
class ReplicaView {
  @Example('gateway-2:17:mhq3k2x1') readonly id!: string;
  @Example('gateway-2:3000', 'Host and port') readonly name!: string;
  @Example('gateway-2') readonly host!: string;
  @Example('1.4.0') readonly version!: string;
  @NullableText('http://10.0.3.7:3000', 'Its URL for other replicas') readonly address!: string | null;
  @NullableNumber(3, 'Tier of its sandbox') readonly tier!: number | null;
  @Example(false, 'Whether it is the replica that answers') readonly self!: boolean;
  @Moment() readonly startedAt!: Date;
  @Moment() readonly seenAt!: Date;
  @NullableMoment(null) readonly silentSince!: Date | null;
  @ApiProperty({ type: JournalLagView }) readonly journal!: JournalLagView;
  @Many(TroubledPartView) readonly troubles!: TroubledPartView[];
}

class ReplicaListView {
  @Many(ReplicaView, 'Oldest first') readonly data!: ReplicaView[];
}

/** A replica as answers show it. @param self id of this one @param silent ids of those that did not answer just now */
function replicaView({ parts, ...replica }: Replica, self: string, silent: ReadonlySet<string>): ReplicaView {
  const { depth = 0, oldestMs = 0 } = (parts['recorder'] ?? {}) as Partial<JournalLagView>;
  const troubles = Object.entries(parts)
    .filter(([, { status }]) => status !== 'up')
    .map(([part, { status, message = null }]) => ({ part, status, message }));
  const silentSince = silent.has(replica.id) ? replica.seenAt : replica.silentSince;
  return { ...replica, silentSince, self: replica.id === self, journal: { depth, oldestMs }, troubles };
}

/** Answers failed probes with Terminus' own body, which Kubernetes' events and dashboards show. */
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
    description: 'For liveness probes. No dependency is checked, so that a lost database restarts nothing.',
  })
  livez(): Promise<HealthCheckResult> {
    return this.service.live();
  }

  @Get('readyz')
  @Public()
  @HealthCheck()
  @ApiOperation({
    summary: 'New calls are accepted',
    description:
      'For readiness probes: 503 while the server starts, drains, does not know its tools or cannot record calls. The details name all parts and their status, with more for the scope `tools:admin`.',
  })
  readyz(@CurrentPrincipal() { scopes }: Principal): Promise<HealthCheckResult> {
    return this.service.ready({ detailed: scopes.has('tools:admin') });
  }

  @Get('startupz')
  @Public()
  @HealthCheck()
  @ApiOperation({
    summary: 'The start work is done',
    description:
      'For startup probes: 503 until the custom tools are listed and the catalogue is imported. Failed parts are named and degrade the status. Tools are loaded afterwards, or when they are called; the message counts them.',
  })
  startupz(): Promise<HealthCheckResult> {
    return this.service.started();
  }

  @Get('api/v1/replicas')
  @Scopes('tools:admin')
  @ApiOperation({
    summary: 'List the replicas that share this database',
    description:
      'Each with its version, sandbox tier, journal and troubles, as of its last heartbeat. A replica that does not answer through the database within two seconds is `silentSince` its last heartbeat; it may still serve. It is listed for an hour, unless it has stopped or another replica has its address now.',
  })
  @ApiOkResponse({ type: ReplicaListView })
  @ApiProblems('database_unavailable', 'unauthorized', 'forbidden')
  async listReplicas(): Promise<ReplicaListView> {
    const [all, missing] = await Promise.all([this.replicas.all(), this.barrier.pass()]);
    const silent = new Set(missing.map(({ id }) => id));
    return { data: all.map((replica) => replicaView(replica, this.replicas.id, silent)) };
  }
}

/** The server's own health, and that of its replicas. Tools' health: insight/tool-health. */
@Module({
  // Terminus would log each failed probe as an error, although the answer has the reason.
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [HealthService],
  exports: [HealthService],
})
export class HealthModule {}
