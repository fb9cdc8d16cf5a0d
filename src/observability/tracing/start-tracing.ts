import { type Attributes } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../../config/tracing-config.js';
import { type ExportLog, LoggedExporter } from './logged-exporter.js';
import { OtelTracer } from './otel-tracer.js';
import type { Tracing } from './tracing.js';

/** @param facts about this process that the operator need not say; what OTEL_RESOURCE_ATTRIBUTES says wins */
export function startTracing(config: TracingConfig, facts: Attributes, log: ExportLog): Tracing {
  const { url, headers, timeoutMs, compression } = config;
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    compression: compression as Compression,
  });
  const processor = new BatchSpanProcessor({
    exporter: new LoggedExporter(exporter, log),
    scheduledDelayMillis: config.delayMs,
    maxQueueSize: config.maxQueue,
    maxExportBatchSize: config.maxBatch,
    exportTimeoutMillis: timeoutMs,
  });
  const provider = new TracerProvider({
    sampler: samplers[config.sampler](config.ratio),
    resource: resourceFromAttributes({ ...facts, ...config.resource }),
    spanProcessors: [processor],
  });
  return {
    tracer: new OtelTracer(provider.getTracer('toolkeeper')),
    close: () => provider.shutdown(),
  };
}

type Compression = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>['compression'];

const byParent = (root: Sampler): Sampler => new ParentBasedSampler({ root });

const samplers: Record<TracingConfig['sampler'], (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => byParent(new AlwaysOnSampler()),
  parentbased_always_off: () => byParent(new AlwaysOffSampler()),
  parentbased_traceidratio: (ratio) => byParent(new TraceIdRatioBasedSampler(ratio)),
};
