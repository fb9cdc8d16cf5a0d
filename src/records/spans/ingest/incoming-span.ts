import type { AttributeLookup, Attributes } from './attribute-lookup.js';

/** A span as its sender has it, before anything is derived; times in microseconds since the epoch. */
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
  /** Fallback attributes: those of its events, then those of its resource. */
  readonly further?: AttributeLookup;
  /** OTLP's status; undefined: unset. */
  readonly status?: 'ok' | 'error' | undefined;
  readonly failure?: string | undefined;
}

/** Why a span is not taken. */
export class RejectedSpan extends Error {
  override readonly name = 'RejectedSpan';
}

/** A batch that would take too much to read. */
export class TooLarge extends Error {}

/** Attributes of a resource, of a span, or of all events of a span, that are read at most. */
export const maxAttributes = 1_024;
/** Events of a span that are read at most. */
export const maxEvents = 1_024;
/** Levels of nested values that are read. */
export const deepest = 32;
export const tooDeep = `[nested deeper than ${deepest} levels]`;
const maxSpans = 100_000;

/** Reads one span of a batch. @throws RejectedSpan if it is no span */
export type ReadSpan = () => IncomingSpan;

/** The spans of a batch, each read when it is asked for: only the spans of one turn are in memory unfolded. */
export class IncomingBatch {
  readonly spans: ReadSpan[] = [];
  /** The first part outside of spans that was not understood or was left out. */
  note: string | undefined;

  /** @throws TooLarge at the first span that is too many */
  add(read: ReadSpan): void {
    if (this.spans.length >= maxSpans)
      throw new TooLarge(`A batch may hold ${maxSpans} spans: send smaller ones`);
    this.spans.push(read);
  }

  remark(note: string): void {
    this.note ??= note;
  }

  /** @throws SyntaxError if the batch has no span and a part of it was not understood */
  checked(): this {
    if (this.spans.length === 0 && this.note !== undefined) throw new SyntaxError(this.note);
    return this;
  }
}
