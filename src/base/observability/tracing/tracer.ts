export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** `client`: asks another service; `server`: answers a caller of ours. Default: `internal`. */
  readonly kind?: 'internal' | 'client' | 'server';
  /** W3C trace context of the caller; the span belongs to that trace. Absent: to the span around it. */
  readonly traceparent?: string | undefined;
}

/** A span while its work is under way. */
export interface Span {
  set(attributes: SpanAttributes): void;
  /** The work failed without throwing. @param type one of few words, such as `timeout` */
  fail(type: string): void;
}

/** A span ended by its creator. Spans started meanwhile are not its children. */
export interface OpenSpan extends Span {
  end(): void;
}

/**
 * Creates spans for the steps of a call. Attributes contain sizes, names and results, never payloads.
 * Inject it by this class; where tracing is off it is `noTracer`, which only runs the work.
 */
export abstract class Tracer {
  /** False where traces are off: nothing then needs to be built for them. */
  abstract readonly on: boolean;

  /**
   * Runs work in a span below the one around it, and makes it the one around what the work does.
   * @throws what `work` throws, which the span records
   */
  abstract span<T>(
    name: string,
    attributes: SpanAttributes,
    work: (span: Span) => Promise<T>,
    options?: SpanOptions,
  ): Promise<T>;

  /** Begins a span below the one around it. It MUST be ended. */
  abstract open(name: string, attributes: SpanAttributes): OpenSpan;

  /**
   * Adds a span for completed work; the attribute `error.type` marks a failure.
   * @param from, to of `performance.now()`
   */
  abstract past(name: string, from: number, to: number, attributes: SpanAttributes): void;

  /**
   * The `traceparent` to send along to another service: the span around this, else what the caller sent.
   * @param incoming `context.traceparent` of the call
   */
  abstract traceparent(incoming: string | undefined): string | undefined;

  /** Sends the spans that wait. */
  abstract readonly close: () => Promise<void>;
}

const noSpan: OpenSpan = {
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};

/** Tracing is off. */
export const noTracer: Tracer = {
  on: false,
  span: (_name, _attributes, work) => work(noSpan),
  open: () => noSpan,
  past: () => undefined,
  traceparent: (incoming) => incoming,
  close: async () => {},
};
