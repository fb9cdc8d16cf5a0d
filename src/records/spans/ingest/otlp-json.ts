import { AttributeLookup, type Attributes, memberOf } from './attribute-lookup.js';
import { eventLookup } from './span-events.js';
import {
  IncomingBatch,
  type IncomingSpan,
  maxAttributes,
  maxDepth,
  maxEvents,
  RejectedSpan,
  tooDeep,
} from './incoming-span.js';

/** Reads the spans of an ExportTraceServiceRequest in JSON. @throws SyntaxError for any other body; TooLarge */
export function spansInJson(body: unknown): IncomingBatch {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new SyntaxError('The body must be an object with resourceSpans');
  const groups = memberOf(body, 'resourceSpans');
  if (groups !== undefined && !Array.isArray(groups)) throw new SyntaxError('resourceSpans must be a list');
  const batch = new IncomingBatch();
  for (const group of membersOf(body, 'resourceSpans', batch)) {
    let shared: Resource | undefined;
    const resource = (): Resource => (shared ??= resourceOf(memberOf(group, 'resource'), batch));
    for (const scope of membersOf(group, 'scopeSpans', batch))
      for (const span of membersOf(scope, 'spans', batch)) batch.add(() => incomingSpan(span, resource()));
  }
  return batch.checked();
}

/** Members beside a list of spans that are not reported as misplaced. */
const membersWithoutSpans = new Set(['resource', 'scope', 'schemaUrl']);

/** The list in a member; empty if there is none. If the owner has another member instead, the batch notes its name. */
function membersOf(owner: unknown, name: string, batch: IncomingBatch): unknown[] {
  const list = memberOf(owner, name);
  if (Array.isArray(list)) return list as unknown[];
  const candidates = typeof owner === 'object' && owner !== null ? Object.keys(owner) : ['no object'];
  const misplaced = list === undefined ? candidates.find((member) => !membersWithoutSpans.has(member)) : name;
  if (misplaced !== undefined)
    batch.remark(
      `Spans are in resourceSpans/scopeSpans/spans: "${misplaced.slice(0, 64)}" stands where ${name} must be a list`,
    );
  return [];
}

/** The attributes that all spans of a resource share, read once. */
export interface Resource {
  /** Fallback for what a span omits: short attributes of the resource. */
  readonly lookup: AttributeLookup;
  /** Those of them that identify the service. They are stored with each span; the others describe the machine. */
  readonly stored: Attributes;
}

/** Names of attributes that identify the service. */
const serviceNames = /^(service|deployment|toolkeeper)\./;
/** Max characters of a shared attribute, its name included. */
const maxSharedLength = 256;
/** Max characters of all attributes of a resource that are stored with each span. */
const maxStoredLength = 1_024;

/** Reads an OTLP resource. Notes in the batch if attributes were left out. */
export function resourceOf(resource: unknown, batch: IncomingBatch): Resource {
  const { attributes, leftOut } = attributesIn(resource);
  if (leftOut > 0)
    batch.remark(`${leftOut} attributes of a resource were left out: it may have ${maxAttributes}`);
  const shared = Object.entries(attributes).filter(
    ([name, value]) => lengthOf(name, value) <= maxSharedLength,
  );
  const stored: Record<string, unknown> = {};
  let length = 0;
  for (const [name, value] of shared) {
    if (!serviceNames.test(name)) continue;
    length += lengthOf(name, value);
    if (length > maxStoredLength) break;
    stored[name] = value;
  }
  return { lookup: new AttributeLookup(Object.fromEntries(shared)), stored };
}

/** Characters of an attribute. Objects are too long to be shared. */
const lengthOf = (name: string, value: unknown): number =>
  typeof value === 'object' ? Infinity : name.length + JSON.stringify(value).length;

/** Max events that are stored with a span: the first and the last of them. */
const maxStoredEvents = 32;

/** Reads one span of OTLP's JSON, or of protobuf that was decoded to this form. @throws RejectedSpan */
export function incomingSpan(span: unknown, resource: Resource): IncomingSpan {
  if (typeof span !== 'object' || span === null) throw new RejectedSpan('it is no object');
  const { attributes, leftOut } = attributesIn(span);
  const events = eventsIn(span);
  const half = maxStoredEvents / 2;
  const stored =
    events.length > maxStoredEvents ? [...events.slice(0, half), ...events.slice(-half)] : events;
  const status = memberOf(span, 'status');
  return {
    traceId: idOf(textAt(span, 'traceId'), 32),
    spanId: idOf(textAt(span, 'spanId'), 16),
    parentSpanId: idOf(textAt(span, 'parentSpanId'), 16) || undefined,
    name: textAt(span, 'name'),
    startUs: microseconds(memberOf(span, 'startTimeUnixNano')),
    finishUs: microseconds(memberOf(span, 'endTimeUnixNano')),
    attributes: { ...resource.stored, ...attributes, ...(stored.length > 0 && { events: stored }) },
    leftOut,
    fallback: eventLookup(events.length > 0 ? events : attributes['events'], resource.lookup),
    status: statusIn(typeof status === 'object' ? memberOf(status, 'code') : status),
    failure: textAt(status, 'message') || undefined,
  };
}

/** Reads events until their attributes, counted together, are as many as one span may have. */
function eventsIn(span: object): { name: string; time_us: number; attributes: Attributes }[] {
  let remaining = maxAttributes;
  return listAt(span, 'events')
    .slice(0, maxEvents)
    .map((event) => {
      const { attributes } = attributesIn(event, remaining);
      remaining -= Object.keys(attributes).length;
      const time_us = microseconds(memberOf(event, 'timeUnixNano')) || 0;
      return { name: textAt(event, 'name'), time_us, attributes };
    });
}

/** The attributes of a span, resource or event, and how many were left out. The protobuf reader puts null for one of those. */
function attributesIn(owner: unknown, max = maxAttributes): { attributes: Attributes; leftOut: number } {
  const given = memberOf(owner, 'attributes') ?? [];
  if (typeof given !== 'object') throw new RejectedSpan('its attributes must be a list of {key, value}');
  const list = Array.isArray(given) ? (given as unknown[]) : Object.entries(given).map(pairOf);
  const read = list.slice(0, max).filter((pair) => pair !== null);
  return { attributes: objectOf(read, 0), leftOut: list.length - read.length };
}

/** An attribute of senders that write attributes as an object: its value is plain, or wrapped like OTLP's values. */
function pairOf([key, given]: [string, unknown]): unknown {
  const [type = ''] = typeof given === 'object' && given !== null ? Object.keys(given) : [];
  const isTyped = /^(string|int|double|bool|array|kvlist|bytes)Value$/.test(type);
  return { key, value: isTyped ? given : { plainValue: given } };
}

/** The object that a list of OTLP's pairs `{key, value}` means. */
const objectOf = (pairs: readonly unknown[], depth: number): Record<string, unknown> =>
  Object.fromEntries(pairs.map((pair) => [textAt(pair, 'key'), valueOf(memberOf(pair, 'value'), depth)]));

/** The value that an AnyValue of OTLP wraps. Nested plain values are limited later (storable-json.ts). */
function valueOf(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return null;
  if (depth > maxDepth) return tooDeep;
  for (const [type, given] of Object.entries(value)) {
    if (type === 'intValue') return wholeNumber(given);
    if (type === 'arrayValue') return listAt(given, 'values').map((member) => valueOf(member, depth + 1));
    if (type === 'kvlistValue') return objectOf(listAt(given, 'values'), depth + 1);
    if (type.endsWith('Value')) return given as unknown;
  }
  return null;
}

/** A 64-bit integer; as text if a number cannot hold it exactly. */
function wholeNumber(given: unknown): unknown {
  const number = Number(given);
  return Number.isSafeInteger(number) ? number : String(given);
}

/** Reads a status code given by number or name. @throws RejectedSpan for a code that OTLP does not have */
function statusIn(code: unknown): IncomingSpan['status'] {
  if (code === undefined || code === null || code === '') return undefined;
  const text = JSON.stringify(code).slice(0, 40);
  const name = text.toUpperCase().replace(/^"?(STATUS_CODE_)?([^"]*)"?$/, '$2');
  if (['0', 'UNSET'].includes(name)) return undefined;
  if (['1', 'OK'].includes(name)) return 'ok';
  if (['2', 'ERROR'].includes(name)) return 'error';
  throw new RejectedSpan(`its status code must be unset, ok or error, not ${text}`);
}

/** The id in lower case; empty if it is invalid. OTLP forbids ids of zeros. */
function idOf(id: string, digits: number): string {
  return id.length === digits && /^[\da-f]+$/i.test(id) && !/^0*$/.test(id) ? id.toLowerCase() : '';
}

/** @returns NaN if it is no time */
function microseconds(nanoseconds: unknown): number {
  if (typeof nanoseconds === 'number') return Math.floor(nanoseconds / 1_000);
  return typeof nanoseconds === 'string' && /^\d{1,20}$/.test(nanoseconds)
    ? Number(BigInt(nanoseconds) / 1_000n)
    : NaN;
}

/** The list in a member; empty if it is none. */
const listAt = (owner: unknown, name: string): unknown[] => {
  const list = memberOf(owner, name);
  return Array.isArray(list) ? (list as unknown[]) : [];
};

/** The text in a member; empty if it is none. */
const textAt = (owner: unknown, name: string): string => {
  const text = memberOf(owner, name);
  return typeof text === 'string' ? text : '';
};
