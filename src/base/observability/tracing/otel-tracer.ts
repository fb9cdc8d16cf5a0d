import {
  type Context,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer as Otel,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { AsyncLocalStorage } from 'node:async_hooks';
import { type OpenSpan, type Span, type SpanAttributes, type SpanOptions, Tracer } from './tracer.js';

const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER };

/**
 * Spans by OpenTelemetry. The current span is kept here and not in OpenTelemetry's process-wide context, so that
 * several servers can live in one process, as they do in tests.
 */
export class OtelTracer extends Tracer {
  readonly on = true;
  private readonly around = new AsyncLocalStorage<Context>();
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
      return await this.around.run(trace.setSpan(parent, span), () => work(open));
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
    return this.around.getStore() ?? ROOT_CONTEXT;
  }
}

/** Milliseconds since the epoch for `performance.now()`, so that spans within one call fit each other to the microsecond. */
class SpanClock {
  private epoch = Date.now() - performance.now();

  now(): number {
    return this.at(performance.now());
  }

  at(time: number): number {
    const epoch = Date.now() - performance.now();
    // The clocks may drift or be set. Smaller differences are the resolution of `Date`.
    if (Math.abs(epoch - this.epoch) > 2) this.epoch = epoch;
    return this.epoch + time;
  }
}

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

/** @returns undefined if nothing, or nothing that can be read, was sent: the trace then begins here */
function remoteContext(traceparent: string | undefined): Context | undefined {
  const remote = traceparent === undefined ? null : parseTraceParent(traceparent);
  return remote ? trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true }) : undefined;
}

/** Members that distinguish our errors from Node's. */
const wordsOf = ['code', 'type', 'reason', 'name'] as const;

/** The kind of an error in one word, such as `queue_full` or `ECONNREFUSED`; never its message, which may hold contents. */
export function errorTypeOf(error: unknown): string {
  const found = wordsOf
    .map((word) => (error as Partial<Record<string, unknown>> | null | undefined)?.[word])
    .find((word) => typeof word === 'string' && word !== '');
  return typeof found === 'string' ? found.slice(0, 64) : 'unknown';
}
