import { AttributeLookup, type Attributes } from './attribute-lookup.js';
import { type IncomingBatch, type IncomingSpan, mostAttributes, RejectedSpan } from './incoming-span.js';

/** Attributes as they were read, and how many more there were. */
export interface ReadAttributes {
  readonly attributes: Attributes;
  readonly leftOut: number;
}

export interface OtlpEvent {
  readonly name: string;
  readonly timeUs: number;
  readonly attributes: Attributes;
}

/** A span of OTLP, whichever encoding it came in. */
export interface OtlpSpan extends ReadAttributes {
  /** Hexadecimal; without a parent empty, or zeros. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startUs: number;
  readonly endUs: number;
  readonly events: readonly OtlpEvent[];
  /** Undefined where there is none. */
  readonly statusCode: unknown;
  readonly message: string;
}

/** The part that all spans of a resource share. */
export interface Resource {
  /** Attributes that are stored with each span. */
  readonly kept: Attributes;
  readonly lookup: AttributeLookup;
}

const storedEvents = 32;
const keptOfResource = /^(service|deployment|toolkeeper)\./;
/** Limits in characters: for one value that each span of the resource gets, and for all values stored with each span. */
const longestValue = 256;
const longestKept = 1_024;
const zeros = /^0*$/;

/**
 * Read once for all spans of the resource. Short values alone stand in for what a span does not say, and those that tell
 * services apart are stored with it: the rest is about a machine, and each span would repeat it.
 */
export function resourceOf({ attributes, leftOut }: ReadAttributes, batch: IncomingBatch): Resource {
  if (leftOut > 0)
    batch.remark(`${leftOut} attributes of a resource were left out: it may have ${mostAttributes}`);
  const short = Object.entries(attributes).filter(([name, value]) => sizeOf(name, value) <= longestValue);
  let left = longestKept;
  const kept = short.filter(
    ([name, value]) => keptOfResource.test(name) && (left -= sizeOf(name, value)) >= 0,
  );
  return { kept: Object.fromEntries(kept), lookup: new AttributeLookup(Object.fromEntries(short)) };
}

const sizeOf = (name: string, value: unknown): number =>
  typeof value === 'object' ? Infinity : name.length + JSON.stringify(value).length;

export function incomingSpan(span: OtlpSpan, resource: Resource): IncomingSpan {
  const events = span.events
    .slice(0, storedEvents)
    .map(({ name, timeUs, attributes }) => ({ name, time_us: timeUs, attributes }));
  // The first event that says something decides: of equal names the last one stays.
  const ofEvents = span.events.toReversed().flatMap(({ attributes }) => Object.entries(attributes));
  return {
    traceId: idOf(span.traceId, 32),
    spanId: idOf(span.spanId, 16),
    parentSpanId: idOf(span.parentSpanId, 16) || undefined,
    name: span.name,
    startUs: span.startUs,
    finishUs: span.endUs,
    attributes: { ...resource.kept, ...span.attributes, ...(events.length > 0 && { events }) },
    leftOut: span.leftOut,
    further: new AttributeLookup(Object.fromEntries(ofEvents), resource.lookup),
    status: statusIn(span.statusCode),
    failure: span.message || undefined,
  };
}

/** By number or name, as text or not. @throws RejectedSpan for a code that OTLP does not have */
function statusIn(code: unknown): IncomingSpan['status'] {
  if (code === undefined || code === null || code === '') return undefined;
  const said = JSON.stringify(code).slice(0, 40);
  const name = said.toUpperCase().replace(/^"?(STATUS_CODE_)?([^"]*)"?$/, '$2');
  if (['0', 'UNSET'].includes(name)) return undefined;
  if (['1', 'OK'].includes(name)) return 'ok';
  if (['2', 'ERROR'].includes(name)) return 'error';
  throw new RejectedSpan(`its status code must be unset, ok or error, not ${said}`);
}

/** @returns empty for what is no id */
function idOf(id: string, digits: number): string {
  return id.length === digits && /^[\da-f]+$/i.test(id) && !zeros.test(id) ? id.toLowerCase() : '';
}
