import { join } from 'node:path';
import { promisify } from 'node:util';
import { Inject, Injectable, Logger, Module } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { type handleUnaryCall, type Metadata, type ServiceDefinition, status } from '@grpc/grpc-js';
import { Server, ServerCredentials, ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
import { errorTable, Problem } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { StartError } from '../../base/common/start-error.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { ToolHealthModule } from '../../insight/tool-health/tool-health.module.js';
import { ExecutionRecorder } from '../../records/executions/execution-recorder.js';
import { AccessPolicy } from '../../web/auth/access-policy.js';
import { AuthModule } from '../../web/auth/auth.module.js';
import type { Principal } from '../../web/contract/principal.js';
import { DtoPipe } from '../../web/rest/dto.pipe.js';
import { loggedProblem } from '../../web/rest/problem.filter.js';
import { HealthModule, HealthService } from '../health/health.module.js';
import { type Method, ToolHealthMethods } from './tool-health-methods.js';

const service = 'toolkeeper.v1.ToolHealth';
const limits = { 'grpc.max_receive_message_length': 65_536, 'grpc.max_concurrent_streams': 100 };
/** gRPC codes by HTTP status: INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, NOT_FOUND, UNAVAILABLE. */
const codes: Readonly<Record<number, status>> = { 400: 3, 401: 16, 403: 7, 404: 5, 503: 14 };

/** The gRPC status of an error; INTERNAL unless `codes` has another one. Fields have their names of the proto file. */
function statusOf(error: unknown): { readonly code: status; readonly details: string } {
  const { code, detail, details } = loggedProblem(error, newId());
  const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (big) => `_${big.toLowerCase()}`);
  const fields = details.errors?.map(({ pointer, detail: why }) => `${snakeCase(pointer.slice(1))} ${why}`);
  return { code: codes[errorTable[code].http] ?? status.INTERNAL, details: fields?.join('; ') ?? detail };
}

/**
 * Serves docs/tool-health.proto, the standard health service and reflection. Nest's own transport is not used: it would
 * load the gRPC library at each start, even if gRPC is off.
 */
@Injectable()
export class GrpcServer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  port = 0;
  private readonly callers = new WeakMap<Metadata, Principal>();
  private readonly pipe = new DtoPipe();
  private readonly health = new HealthImplementation({ '': 'NOT_SERVING', [service]: 'NOT_SERVING' });
  private readonly server = new Server({ ...limits, interceptors: [(...call) => this.intercept(...call)] });

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server' | 'root'>,
    private readonly policy: AccessPolicy,
    private readonly lifecycle: Lifecycle,
    private readonly readiness: HealthService,
    private readonly recorder: ExecutionRecorder,
    private readonly methods: ToolHealthMethods,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const proto = join(this.config.root, 'docs', 'tool-health.proto');
    const handlers: Record<string, handleUnaryCall<object, object>> = {};
    for (const [name, method] of Object.entries(this.methods.byName)) handlers[name] = this.handler(method);
    const definition = loadSync(proto, { longs: Number })[service] as ServiceDefinition;
    this.server.addService(definition, handlers);
    this.health.addToServer(this.server);
    new ReflectionService(loadSync(proto, { keepCase: true })).addToServer(this.server);
    const { host, grpcPort } = this.config.server;
    const address = `${host.includes(':') ? `[${host}]` : host}:${grpcPort}`;
    const bind = promisify(this.server.bindAsync.bind(this.server));
    this.port = await bind(address, ServerCredentials.createInsecure()).catch(({ message }: Error) => {
      throw new StartError(`gRPC cannot listen on ${address}: ${message}. Set GRPC_PORT to another one.`);
    });
    new Logger(GrpcServer.name).log(`gRPC listens on port ${this.port}`);
    this.lifecycle.drainSignal.addEventListener('abort', () => void this.showReadiness());
  }

  beforeApplicationShutdown(): void {
    this.server.tryShutdown(() => undefined);
    // Leaves open answers this time to be written.
    setTimeout(() => this.server.forceShutdown(), 500).unref();
  }

  /** Checks the caller of each call. The health service needs no key; reflection needs the same rights as the docs. */
  private intercept(...[{ path }, call]: Parameters<ServerInterceptor>): ServerInterceptingCall {
    const isProbe = path.startsWith('/grpc.health.v1.');
    const scope = path.endsWith('/RecordExecution') ? 'tools:admin' : 'metrics:read';
    const own = path.startsWith(`/${service}/`) && { url: path, scopes: [scope] as const };
    const onReceiveMetadata = (metadata: Metadata, next: (metadata: Metadata) => void): void => {
      const headers = { ...(metadata.getMap() as Record<string, string>), host: call.getHost() };
      const visit = { headers, method: 'POST', protocol: 'http', raw: { httpVersion: '2.0' } } as const;
      const admit = async (): Promise<void> => {
        const route = own || { url: '/docs', public: isProbe };
        this.callers.set(metadata, await this.policy.admit(visit, route));
        if (isProbe) await this.showReadiness();
        next(metadata);
      };
      admit().catch((error: unknown) => call.sendStatus(statusOf(error)));
    };
    return new ServerInterceptingCall(call, { start: (next) => next({ onReceiveMetadata }) });
  }

  private handler([type, answer]: Method): handleUnaryCall<object, object> {
    return ({ request, metadata }, callback) => {
      const answering = this.lifecycle.requests.during(async () => {
        if (this.lifecycle.isDraining()) throw new Problem('shutting_down', 'The server is stopping');
        const dto = await this.pipe.read(type, request, 'query');
        await this.recorder.catchUp();
        return answer(dto as never, this.callers.get(metadata) as Principal);
      });
      answering.then(callback.bind(undefined, null), (error: unknown) => callback(statusOf(error)));
    };
  }

  /** Copies the readiness of the server to the health service. */
  private async showReadiness(): Promise<void> {
    const [{ status: ready }] = await Promise.allSettled([this.readiness.ready(false)]);
    const serving = ready === 'fulfilled' ? 'SERVING' : 'NOT_SERVING';
    for (const name of ['', service]) this.health.setStatus(name, serving);
  }
}

@Module({
  imports: [AuthModule, ToolHealthModule, HealthModule],
  providers: [ToolHealthMethods, GrpcServer],
})
export class GrpcModule {}
