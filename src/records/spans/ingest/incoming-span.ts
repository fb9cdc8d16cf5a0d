import type { AttributeLookup, Attributes } from './attribute-lookup.js';

/** A span as it was sent, in one form for all formats. Times are in microseconds since the epoch. */
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
  /** Number of attributes that were left out because a span has too many. */
  readonly leftOut?: number;
  /** Lookup for what the attributes omit: attributes of its events, then those of its resource. */
  readonly fallback?: AttributeLookup;
  /** OTLP's status; undefined: unset. */
  readonly status?: 'ok' | 'error' | undefined;
  /** Message of OTLP's status. */
  readonly failure?: string | undefined;
}

/** A span that is not stored; the message says why, and "it" there is the span. */
export class RejectedSpan extends Error {
  override readonly name = 'RejectedSpan';
}

/** A batch that is not read, because it would take too much time or memory. */
export class TooLarge extends Error {}

/** Max attributes of a resource, of a span, or of all events of a span together. Others are left out. */
export const maxAttributes = 1_024;
/** Max events of a span that are read. */
export const maxEvents = 1_024;
/** Max levels of nested values. A deeper value is stored as the text `tooDeep`. */
export const maxDepth = 32;
export const tooDeep = `[nested deeper than ${maxDepth} levels]`;
/** Max spans of a batch. */
const maxSpans = 100_000;

/** Reads one span of a batch. @throws RejectedSpan if it is no span */
export type ReadSpan = () => IncomingSpan;

/** The spans of a batch, as functions that read one each, because a read span takes far more memory than its bytes. */
export class IncomingBatch {
  readonly spans: ReadSpan[] = [];
  /** A message about the first part outside of spans that was not understood or was left out. */
  note: string | undefined;

  /** @throws TooLarge at the first span that is too many */
  add(read: ReadSpan): void {
    if (this.spans.length >= maxSpans)
      throw new TooLarge(`A batch may hold ${maxSpans} spans: send smaller ones`);
    this.spans.push(read);
  }

  /** Sets the note, unless there is one. */
  remark(note: string): void {
    this.note ??= note;
  }

  /** @throws SyntaxError if the batch has no span and a part of it was not understood */
  checked(): this {
    if (this.spans.length === 0 && this.note !== undefined) throw new SyntaxError(this.note);
    return this;
  }
}
