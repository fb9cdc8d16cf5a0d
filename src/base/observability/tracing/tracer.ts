/** Attributes of a span, by their OpenTelemetry names. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** `client` for a request to another service, `server` for one from a caller. Default: `internal`. */
  readonly kind?: 'internal' | 'client' | 'server';
  /** W3C trace context of the caller, whose trace the span joins. Absent: the parent is the current span. */
  readonly traceparent?: string | undefined;
}

/** A span of traces whose work is in progress. */
export interface Span {
  /** Adds attributes. */
  set(attributes: SpanAttributes): void;
  /** Marks work that failed without throwing. @param type one of few words, such as `timeout` */
  fail(type: string): void;
}

/** A span that its creator ends. Spans that start before its end are not its children. */
export interface OpenSpan extends Span {
  end(): void;
}

/**
 * Creates spans for the steps of a call. Attributes contain sizes, names and results, never payloads.
 * Inject it by this class; if tracing is off it is `noTracer`, which only runs the work.
 */
export abstract class Tracer {
  /** Whether tracing is on. If not, attributes need not be built. */
  abstract readonly on: boolean;

  /**
   * Runs work in a child of the current span, and makes that the current span of the work.
   * @throws what `work` throws, which the span records
   */
  abstract span<T>(
    name: string,
    attributes: SpanAttributes,
    work: (span: Span) => Promise<T>,
    options?: SpanOptions,
  ): Promise<T>;

  /** Begins a child of the current span. It MUST be ended. */
  abstract open(name: string, attributes: SpanAttributes): OpenSpan;

  /**
   * Adds a child of the current span for completed work; the attribute `error.type` marks a failure.
   * @param from start and `to` end, by `performance.now()`
   */
  abstract past(name: string, from: number, to: number, attributes: SpanAttributes): void;

  /**
   * The `traceparent` for a request to another service: that of the current span, else the caller's.
   * @param incoming `context.traceparent` of the call
   */
  abstract traceparent(incoming: string | undefined): string | undefined;

  /** Sends the remaining spans. */
  abstract readonly close: () => Promise<void>;
}

const noSpan: OpenSpan = {
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};

/** The tracer if tracing is off: it only runs the work. */
export const noTracer: Tracer = {
  on: false,
  span: (_name, _attributes, work) => work(noSpan),
  open: () => noSpan,
  past: () => undefined,
  traceparent: (incoming) => incoming,
  close: async () => {},
};
