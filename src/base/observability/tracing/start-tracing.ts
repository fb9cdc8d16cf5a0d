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
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import type { AppConfig } from '../../config/app-config.js';
import { Tracer, type OpenSpan, type Span, type SpanAttributes, type SpanOptions } from './tracer.js';
import {
  type Context,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer as Otel,
} from '@opentelemetry/api';
import { AsyncLocalStorage } from 'node:async_hooks';

type TracingConfig = AppConfig['tracing'];

/**
 * Starts the export of spans. The exporter itself reads OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT, _COMPRESSION and the
 * certificates, the detector OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
 */
export function startTracing(config: TracingConfig): Tracer {
  // Attributes of the detector take precedence.
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

/** Follows the decision of the caller, if there is one. */
const byParent = (root: Sampler): Sampler => new ParentBasedSampler({ root });

const samplers: Record<TracingConfig['sampler'], (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => byParent(new AlwaysOnSampler()),
  parentbased_always_off: () => byParent(new AlwaysOffSampler()),
  parentbased_traceidratio: (ratio) => byParent(new TraceIdRatioBasedSampler(ratio)),
};

/** Logs when spans are lost, once and not for every batch, because OpenTelemetry drops them silently. */
class LoggedExporter implements SpanExporter {
  /** Number of spans lost since the last batch that arrived. */
  private lost = 0;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly logger: Logger,
  ) {}

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.exporter.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.onArrival();
      else this.onLoss(result.error, spans.length);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  private onArrival(): void {
    if (this.lost > 0) this.logger.log({ event: 'spans_arrive', lost: this.lost }, 'traces arrive again');
    this.lost = 0;
  }

  private onLoss(error: Error | undefined, spans: number): void {
    if (this.lost === 0)
      this.logger.warn(
        { event: 'spans_lost', spans, error: String(error?.message) },
        'traces do not arrive (OTEL_EXPORTER_OTLP_ENDPOINT)',
      );
    this.lost += spans;
  }
}

/** Kinds of spans in OpenTelemetry's numbers. */
const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER };

/**
 * Spans by OpenTelemetry. The current span is kept here and not in OpenTelemetry's process-wide context, so that
 * several servers can live in one process, as they do in tests.
 */
export class OtelTracer extends Tracer {
  readonly on = true;
  /** The context of the current span. */
  private readonly currentContext = new AsyncLocalStorage<Context>();
  private readonly clock = new SpanClock();

  constructor(
    private readonly otel: Otel,
    readonly close: () => Promise<void>,
  ) {
    super();
  }

  async span<T>(
    name: string,
    attributes: SpanAttributes,
    work: (span: Span) => Promise<T>,
    { kind = 'internal', traceparent }: SpanOptions = {},
  ): Promise<T> {
    const parent = remoteContext(traceparent) ?? this.context();
    const startTime = this.clock.now();
    const span = this.otel.startSpan(name, { kind: kinds[kind], startTime, attributes }, parent);
    const open = new RunningSpan(span, this.clock);
    try {
      return await this.currentContext.run(trace.setSpan(parent, span), () => work(open));
    } catch (error) {
      open.fail(errorTypeOf(error));
      throw error;
    } finally {
      open.end();
    }
  }

  open(name: string, attributes: SpanAttributes): OpenSpan {
    const startTime = this.clock.now();
    return new RunningSpan(this.otel.startSpan(name, { startTime, attributes }, this.context()), this.clock);
  }

  past(name: string, from: number, to: number, attributes: SpanAttributes): void {
    const startTime = this.clock.at(from);
    const span = this.otel.startSpan(name, { startTime, attributes }, this.context());
    if ('error.type' in attributes) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(this.clock.at(Math.max(from, to)));
  }

  traceparent(incoming: string | undefined): string | undefined {
    const span = trace.getSpanContext(this.context());
    if (!span) return incoming;
    const flags = span.traceFlags.toString(16).padStart(2, '0');
    return `00-${span.traceId}-${span.spanId}-${flags}`;
  }

  private context(): Context {
    return this.currentContext.getStore() ?? ROOT_CONTEXT;
  }
}

/** Max difference, in milliseconds, that the resolution of `Date` may cause. */
const dateResolutionMs = 2;

/**
 * Converts `performance.now()` to milliseconds since the epoch. All spans of a call use the same difference of the two clocks,
 * so that their times match to the microsecond.
 */
class SpanClock {
  /** Milliseconds since the epoch at which `performance.now()` was 0. */
  private epoch = Date.now() - performance.now();

  now(): number {
    return this.at(performance.now());
  }

  at(time: number): number {
    const epoch = Date.now() - performance.now();
    // The clocks may drift or be set.
    if (Math.abs(epoch - this.epoch) > dateResolutionMs) this.epoch = epoch;
    return this.epoch + time;
  }
}

/** A span of OpenTelemetry that has not ended. */
class RunningSpan implements OpenSpan {
  private ended = false;

  constructor(
    private readonly span: OtelSpan,
    private readonly clock: SpanClock,
  ) {}

  set(attributes: SpanAttributes): void {
    this.span.setAttributes(attributes);
  }

  fail(type: string): void {
    this.span.setStatus({ code: SpanStatusCode.ERROR });
    this.span.setAttribute('error.type', type);
  }

  end(): void {
    if (!this.ended) this.span.end(this.clock.now());
    this.ended = true;
  }
}

/** The caller's trace context; undefined without a valid one: the trace then begins here. */
function remoteContext(traceparent: string | undefined): Context | undefined {
  const remote = traceparent === undefined ? null : parseTraceParent(traceparent);
  return remote ? trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true }) : undefined;
}

/** Members of an error that may hold its kind, in order of preference. */
const kindMembers = ['code', 'type', 'reason', 'name'] as const;

/** The kind of an error in one word, such as `queue_full` or `ECONNREFUSED`, without its message, which may quote data. */
export function errorTypeOf(error: unknown): string {
  const found = kindMembers
    .map((member) => (error as Partial<Record<string, unknown>> | null | undefined)?.[member])
    .find((value) => typeof value === 'string' && value !== '');
  return typeof found === 'string' ? found.slice(0, 64) : 'unknown';
}
