import type { Attributes } from './attribute-lookup.js';

/** A span as its sender has it, before anything is derived; times in microseconds since 1970. */
export interface IncomingSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly threadId?: string | undefined;
  readonly runId?: string | undefined;
  readonly name: string;
  readonly startUs: number;
  readonly finishUs: number;
  readonly attributes: Attributes;
  /** Attributes that stand in for those that it lacks: of its events, then of its resource. */
  readonly further?: readonly Attributes[];
  /** Its sender says that it failed. */
  readonly failed?: boolean;
  readonly failure?: string | undefined;
}

/** Why a span is not taken. */
export class RejectedSpan extends Error {
  override readonly name = 'RejectedSpan';
}
