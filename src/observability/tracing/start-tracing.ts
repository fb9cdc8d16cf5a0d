import { type Attributes } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { AppConfig } from '../../config/app-config.js';
import { type ExportLog, LoggedExporter } from './logged-exporter.js';
import { OtelTracer } from './otel-tracer.js';
import type { Tracing } from './tracing.js';

type TracingConfig = AppConfig['tracing'];

/**
 * The exporter reads OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT, _COMPRESSION and the certificates by itself, the detector
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
 * @param facts about this process that the operator need not say; what the detector finds wins
 */
export function startTracing(config: TracingConfig, facts: Attributes, log: ExportLog): Tracing {
  const exporter = new OTLPTraceExporter({ url: config.url });
  const processor = new BatchSpanProcessor({
    exporter: new LoggedExporter(exporter, log),
    scheduledDelayMillis: config.delayMs,
    maxQueueSize: config.maxQueue,
    maxExportBatchSize: Math.min(config.maxBatch, config.maxQueue),
  });
  const provider = new TracerProvider({
    sampler: samplers[config.sampler](config.ratio),
    resource: resourceFromAttributes(facts).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [processor],
  });
  return {
    tracer: new OtelTracer(provider.getTracer('toolkeeper')),
    close: () => provider.shutdown(),
  };
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
