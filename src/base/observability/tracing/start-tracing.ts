import { Logger } from '@nestjs/common';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { ExportResultCode } from '@opentelemetry/core';
import type { AppConfig } from '../../config/app-config.js';
import { OtelTracer } from './otel-tracer.js';
import type { Tracer } from './tracer.js';

type TracingConfig = AppConfig['tracing'];

/**
 * The exporter reads OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT, _COMPRESSION and the certificates by itself, the detector
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
 */
export function startTracing(config: TracingConfig): Tracer {
  // Findings of the detector win.
  const facts = {
    'service.name': 'toolkeeper',
    'service.instance.id': crypto.randomUUID(),
    'process.pid': process.pid,
  };
  const exporter = new OTLPTraceExporter({ url: config.url });
  const processor = new BatchSpanProcessor({
    exporter: new LoggedExporter(exporter, new Logger('Tracing')),
    scheduledDelayMillis: config.delayMs,
    maxQueueSize: config.maxQueue,
    maxExportBatchSize: Math.min(config.maxBatch, config.maxQueue),
  });
  const provider = new TracerProvider({
    sampler: samplers[config.sampler](config.ratio),
    resource: resourceFromAttributes(facts).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [processor],
  });
  return new OtelTracer(provider.getTracer('toolkeeper'), () => provider.shutdown());
}

const byParent = (root: Sampler): Sampler => new ParentBasedSampler({ root });

const samplers: Record<TracingConfig['sampler'], (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => byParent(new AlwaysOnSampler()),
  parentbased_always_off: () => byParent(new AlwaysOffSampler()),
  parentbased_traceidratio: (ratio) => byParent(new TraceIdRatioBasedSampler(ratio)),
};

/** OpenTelemetry drops spans silently. Logs that once, not for every batch. */
class LoggedExporter implements SpanExporter {
  private lost = 0;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly logger: Logger,
  ) {}

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.exporter.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.arrived();
      else this.failed(result.error, spans.length);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  private arrived(): void {
    if (this.lost > 0) this.logger.log({ event: 'spans_arrive', lost: this.lost }, 'traces arrive again');
    this.lost = 0;
  }

  private failed(error: Error | undefined, spans: number): void {
    if (this.lost === 0)
      this.logger.warn(
        { event: 'spans_lost', spans, error: String(error?.message) },
        'traces do not arrive (OTEL_EXPORTER_OTLP_ENDPOINT)',
      );
    this.lost += spans;
  }
}
