import { noTracer, type Tracer } from './tracer.js';

/** A tracer and the end of it. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what waits. */
  close(): Promise<void>;
}

export const noTracing: Tracing = { tracer: noTracer, close: () => Promise.resolve() };
