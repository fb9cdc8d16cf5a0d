import type { Attributes } from './attribute-lookup.js';
import type { IncomingSpan } from './incoming-span.js';

export interface OtlpEvent {
  readonly name: string;
  readonly timeUs: number;
  readonly attributes: Attributes;
}

/** A span of OTLP, whichever encoding it came in. */
export interface OtlpSpan {
  /** Hexadecimal; without a parent empty, or zeros. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startUs: number;
  readonly endUs: number;
  readonly attributes: Attributes;
  readonly events: readonly OtlpEvent[];
  readonly failed: boolean;
  readonly message: string;
}

const mostEvents = 32;
const keptOfResource = /^(service|deployment|toolkeeper)\./;
const zeros = /^0*$/;

/** Of the resource only what tells services apart is kept with each span: the rest is about a machine. */
export function incomingSpan(span: OtlpSpan, resource: Attributes): IncomingSpan {
  const kept = Object.entries(resource).filter(([name]) => keptOfResource.test(name));
  const events = span.events
    .slice(0, mostEvents)
    .map(({ name, timeUs, attributes }) => ({ name, time_us: timeUs, attributes }));
  return {
    traceId: idOf(span.traceId, 32),
    spanId: idOf(span.spanId, 16),
    parentSpanId: idOf(span.parentSpanId, 16) || undefined,
    name: span.name,
    startUs: span.startUs,
    finishUs: span.endUs,
    attributes: {
      ...Object.fromEntries(kept),
      ...span.attributes,
      ...(events.length > 0 && { events }),
    },
    further: [...span.events.map(({ attributes }) => attributes), resource],
    failed: span.failed,
    failure: span.message || undefined,
  };
}

/** @returns empty for what is no id */
function idOf(id: string, digits: number): string {
  return id.length === digits && /^[\da-f]+$/i.test(id) && !zeros.test(id) ? id.toLowerCase() : '';
}
