import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { endsWithin } from '../../common/abortable.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { noTracer, Tracer } from './tracer.js';

/** Provides the Tracer. OpenTelemetry's SDK is loaded only if tracing is on. */
@Global()
@Module({
  providers: [{ provide: Tracer, inject: [APP_CONFIG], useFactory: start }],
  exports: [Tracer],
})
export class TracingModule implements OnApplicationShutdown {
  constructor(
    private readonly tracer: Tracer,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server'>,
  ) {}

  /** Sends the waiting spans, up to a timeout: a receiver that hangs must not delay the shutdown. */
  async onApplicationShutdown(): Promise<void> {
    const withinMs = Math.min(maxFlushMs, this.config.server.drainTimeoutMs);
    await endsWithin(withinMs, this.tracer.close()).catch(() => undefined);
  }
}

/** Max time at shutdown for sending the waiting spans. */
const maxFlushMs = 3_000;

/** The tracer for the configuration. */
async function start({ tracing }: Pick<AppConfig, 'tracing'>): Promise<Tracer> {
  if (!tracing.on) return noTracer;
  const { startTracing } = await import('./start-tracing.js');
  return startTracing(tracing);
}
