import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { endsWithin } from '../../common/abortable.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import type { ExportLog } from './logged-exporter.js';
import { Tracer } from './tracer.js';
import { noTracing, type Tracing } from './tracing.js';

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
  return startTracing(tracing, facts, logged(new Logger('Tracing')));
}

function logged(logger: Logger): ExportLog {
  return {
    failed: (error, spans) =>
      logger.warn(
        { event: 'spans_lost', spans, error: String(error?.message) },
        'traces do not arrive (OTEL_EXPORTER_OTLP_ENDPOINT)',
      ),
    recovered: (lost) => logger.log({ event: 'spans_arrive', lost }, 'traces arrive again'),
  };
}
