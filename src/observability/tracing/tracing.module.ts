import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { endsWithin } from '../../common/abortable.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { noTracing, Tracer, type Tracing } from './tracer.js';

const TRACING = Symbol('Tracing');

/** Gives rooms their Tracer. Where they are off, nothing of OpenTelemetry's SDK is loaded. */
@Global()
@Module({
  providers: [
    { provide: TRACING, inject: [APP_CONFIG], useFactory: start },
    { provide: Tracer, inject: [TRACING], useFactory: ({ tracer }: Tracing) => tracer },
  ],
  exports: [Tracer],
})
export class TracingModule implements OnApplicationShutdown {
  constructor(
    @Inject(TRACING) private readonly tracing: Tracing,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server'>,
  ) {}

  /** Spans that wait are sent as far as there is time: a receiver that hangs must not hold up the end. */
  async onApplicationShutdown(): Promise<void> {
    const withinMs = Math.min(longestFlushMs, this.config.server.drainTimeoutMs);
    await endsWithin(withinMs, this.tracing.close()).catch(() => undefined);
  }
}

const longestFlushMs = 3_000;

async function start({ tracing }: Pick<AppConfig, 'tracing'>): Promise<Tracing> {
  if (!tracing.on) return noTracing;
  const { startTracing } = await import('./start-tracing.js');
  const facts = {
    'service.name': 'toolkeeper',
    'service.instance.id': crypto.randomUUID(),
    'process.pid': process.pid,
  };
  return startTracing(tracing, facts);
}
