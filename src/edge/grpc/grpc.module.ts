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

/** Name of the service in docs/tool-health.proto. */
const service = 'toolkeeper.v1.ToolHealth';
const limits = { 'grpc.max_receive_message_length': 65_536, 'grpc.max_concurrent_streams': 100 };
/** gRPC codes by HTTP status. */
const codeByHttpStatus: Readonly<Record<number, status>> = {
  400: status.INVALID_ARGUMENT,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  404: status.NOT_FOUND,
  503: status.UNAVAILABLE,
};

/** Time for open answers to be written when the server stops. */
const answerGraceMs = 500;

/** The gRPC status of an error. Fields have their names of the proto file. */
function statusOf(error: unknown): { readonly code: status; readonly details: string } {
  const { code, detail, details } = loggedProblem(error, newId());
  const snakeCase = (name: string): string =>
    name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  const fields = details.errors?.map(({ pointer, detail: why }) => `${snakeCase(pointer.slice(1))} ${why}`);
  const grpcCode = codeByHttpStatus[errorTable[code].http] ?? status.INTERNAL;
  return { code: grpcCode, details: fields?.join('; ') ?? detail };
}

/**
 * Serves docs/tool-health.proto, the standard health service and reflection. Nest's own transport is not used: it would
 * load the gRPC library at each start, even if gRPC is off.
 */
@Injectable()
export class GrpcServer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** The port on which it listens; 0 before that. */
  port = 0;
  /** The callers of running calls, by the metadata of the call. */
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
    setTimeout(() => this.server.forceShutdown(), answerGraceMs).unref();
  }

  /** Checks the caller of each call. The health service needs no key; reflection needs the same rights as the docs. */
  private intercept(...[{ path }, call]: Parameters<ServerInterceptor>): ServerInterceptingCall {
    const isProbe = path.startsWith('/grpc.health.v1.');
    const scope = path.endsWith('/RecordExecution') ? 'tools:admin' : 'metrics:read';
    const isToolHealth = path.startsWith(`/${service}/`);
    const route = isToolHealth ? { url: path, scopes: [scope] as const } : { url: '/docs', public: isProbe };
    const onReceiveMetadata = (metadata: Metadata, next: (metadata: Metadata) => void): void => {
      const headers = { ...(metadata.getMap() as Record<string, string>), host: call.getHost() };
      const request = { headers, method: 'POST', protocol: 'http', raw: { httpVersion: '2.0' } } as const;
      const admit = async (): Promise<void> => {
        this.callers.set(metadata, await this.policy.admit(request, route));
        if (isProbe) await this.showReadiness();
        next(metadata);
      };
      admit().catch((error: unknown) => call.sendStatus(statusOf(error)));
    };
    return new ServerInterceptingCall(call, { start: (next) => next({ onReceiveMetadata }) });
  }

  /** The handler of a method: checks the request, waits for records of earlier calls, and answers. */
  private handler([type, answer]: Method): handleUnaryCall<object, object> {
    return ({ request, metadata }, callback) => {
      const answering = this.lifecycle.requests.during(async () => {
        if (this.lifecycle.state === 'draining') throw new Problem('shutting_down', 'The server is stopping');
        const dto = await this.pipe.read(type, request, 'query');
        await this.recorder.catchUp();
        return answer(dto as never, this.callers.get(metadata) as Principal);
      });
      answering.then(
        (result) => callback(null, result),
        (error: unknown) => callback(statusOf(error)),
      );
    };
  }

  /** Copies the readiness of the server to the health service. */
  private async showReadiness(): Promise<void> {
    const isReady = await this.readiness.ready({ detailed: false }).then(
      () => true,
      () => false,
    );
    for (const name of ['', service]) this.health.setStatus(name, isReady ? 'SERVING' : 'NOT_SERVING');
  }
}

/** Tools' health over gRPC. The module is loaded only if GRPC_PORT is set. */
@Module({
  imports: [AuthModule, ToolHealthModule, HealthModule],
  providers: [ToolHealthMethods, GrpcServer],
})
export class GrpcModule {}
