import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { endsWithin } from '../../common/abortable.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { noTracer, Tracer } from './tracer.js';

/** Gives rooms their Tracer. Where they are off, nothing of OpenTelemetry's SDK is loaded. */
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

  /** Spans that wait are sent as far as there is time: a receiver that hangs must not hold up the end. */
  async onApplicationShutdown(): Promise<void> {
    const withinMs = Math.min(maxFlushMs, this.config.server.drainTimeoutMs);
    await endsWithin(withinMs, this.tracer.close()).catch(() => undefined);
  }
}

const maxFlushMs = 3_000;

async function start({ tracing }: Pick<AppConfig, 'tracing'>): Promise<Tracer> {
  if (!tracing.on) return noTracer;
  const { startTracing } = await import('./start-tracing.js');
  return startTracing(tracing);
}
