import type { Environment } from './environment.js';
import { keyValuesIn } from './key-values.js';
import type { TraceSampler } from './trace-samplers.js';

export interface TracingConfig {
  readonly on: boolean;
  /** To which spans are sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  /** What is known of this service, by OpenTelemetry's names. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: TraceSampler;
  /** 0 to 1. */
  readonly ratio: number;
  readonly delayMs: number;
  readonly maxQueue: number;
  readonly maxBatch: number;
}

/** Off unless somebody says where traces go: OpenTelemetry's own default would look for a receiver on each host. */
export function tracingConfig(env: Environment): TracingConfig {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const full = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const exporter = env.OTEL_TRACES_EXPORTER ?? (base || full ? 'otlp' : 'none');
  return {
    on: exporter === 'otlp' && !env.OTEL_SDK_DISABLED,
    url: full ?? `${(base ?? 'http://localhost:4318').replace(/\/+$/, '')}/v1/traces`,
    headers: keyValuesIn(env.OTEL_EXPORTER_OTLP_HEADERS ?? '') ?? {},
    timeoutMs: env.OTEL_EXPORTER_OTLP_TIMEOUT,
    compression: env.OTEL_EXPORTER_OTLP_COMPRESSION as TracingConfig['compression'],
    resource: {
      ...keyValuesIn(env.OTEL_RESOURCE_ATTRIBUTES ?? ''),
      'service.name': env.OTEL_SERVICE_NAME,
    },
    sampler: env.OTEL_TRACES_SAMPLER,
    ratio: env.OTEL_TRACES_SAMPLER_ARG,
    delayMs: env.OTEL_BSP_SCHEDULE_DELAY,
    maxQueue: env.OTEL_BSP_MAX_QUEUE_SIZE,
    maxBatch: Math.min(env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, env.OTEL_BSP_MAX_QUEUE_SIZE),
  };
}
