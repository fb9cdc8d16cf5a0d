import { AttributeLookup, type Attributes, memberOf } from './attribute-lookup.js';
import { eventLookup } from './span-events.js';
import {
  deepest,
  IncomingBatch,
  type IncomingSpan,
  maxAttributes,
  maxEvents,
  RejectedSpan,
  tooDeep,
} from './incoming-span.js';

/**
 * The spans of an ExportTraceServiceRequest in JSON.
 * @throws SyntaxError for what is no such request, or holds none of its spans where the protocol has them; TooLarge
 */
export function spansInJson(body: unknown): IncomingBatch {
  const groups = memberOf(body, 'resourceSpans');
  if (groups !== undefined && !Array.isArray(groups)) throw new SyntaxError('resourceSpans must be a list');
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new SyntaxError('The body must be an object with resourceSpans');
  const batch = new IncomingBatch();
  for (const group of membersOf(body, 'resourceSpans', batch)) {
    let shared: Resource | undefined;
    const resource = (): Resource => (shared ??= resourceOf(memberOf(group, 'resource'), batch));
    for (const scope of membersOf(group, 'scopeSpans', batch))
      for (const span of membersOf(scope, 'spans', batch)) batch.add(() => incomingSpan(span, resource()));
  }
  return batch.checked();
}

const beside = new Set(['resource', 'scope', 'schemaUrl']);

/** The list; where it is absent and something stands in its place, that is named. */
function membersOf(owner: unknown, name: string, batch: IncomingBatch): unknown[] {
  const list = memberOf(owner, name);
  if (Array.isArray(list)) return list as unknown[];
  const strange = typeof owner === 'object' && owner !== null ? Object.keys(owner) : ['no object'];
  const found = list === undefined ? strange.find((member) => !beside.has(member)) : name;
  if (found !== undefined)
    batch.remark(
      `Spans are in resourceSpans/scopeSpans/spans: "${found.slice(0, 64)}" stands where ${name} must be a list`,
    );
  return [];
}

/**
 * The spans of a body of vLLora's shape: one, a list of them, or the envelope `{data: [...]}` that lists come in.
 * @throws SyntaxError for anything else; TooLarge
 */
export function spansOfVllora(body: unknown): IncomingBatch {
  const list =
    memberOf(body, 'data') ?? memberOf(body, 'spans') ?? (memberOf(body, 'span_id') ? [body] : body);
  if (!Array.isArray(list))
    throw new SyntaxError('The body must be a span, a list of spans, or {"data": [spans]}');
  const batch = new IncomingBatch();
  for (const span of list as unknown[]) batch.add(() => vlloraSpan(span));
  return batch;
}

function vlloraSpan(span: unknown): IncomingSpan {
  if (typeof span !== 'object' || span === null) throw new RejectedSpan('it is no object');
  const attributes = memberOf(span, 'attribute') ?? memberOf(span, 'attributes') ?? {};
  if (typeof attributes !== 'object' || Array.isArray(attributes))
    throw new RejectedSpan('its attribute is no object');
  return {
    traceId: idTextAt(span, 'trace_id'),
    spanId: idTextAt(span, 'span_id'),
    parentSpanId: idTextAt(span, 'parent_span_id'),
    threadId: idTextAt(span, 'thread_id'),
    runId: idTextAt(span, 'run_id'),
    name: idTextAt(span, 'operation_name'),
    startUs: Math.round(Number(memberOf(span, 'start_time_us') ?? NaN)),
    finishUs: Math.round(Number(memberOf(span, 'finish_time_us') ?? NaN)),
    attributes: attributes as Attributes,
  };
}

/** Ids may be numbers. */
function idTextAt(owner: unknown, name: string): string {
  const value = memberOf(owner, name);
  return typeof value === 'number' ? String(value) : textAt(owner, name);
}

/** Attributes as they were read, and how many more there were. */
interface ReadAttributes {
  readonly attributes: Attributes;
  readonly leftOut: number;
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
const maxValueLength = 256;
const maxKeptLength = 1_024;
const zeros = /^0*$/;

/**
 * Read once for all spans of the resource. Short values alone stand in for what a span does not say, and those that tell
 * services apart are stored with it: the rest is about a machine, and each span would repeat it.
 */
export function resourceOf(resource: unknown, batch: IncomingBatch): Resource {
  const { attributes, leftOut } = attributesIn(resource);
  if (leftOut > 0)
    batch.remark(`${leftOut} attributes of a resource were left out: it may have ${maxAttributes}`);
  const short = Object.entries(attributes).filter(([name, value]) => sizeOf(name, value) <= maxValueLength);
  let left = maxKeptLength;
  const kept = short.filter(
    ([name, value]) => keptOfResource.test(name) && (left -= sizeOf(name, value)) >= 0,
  );
  return { kept: Object.fromEntries(kept), lookup: new AttributeLookup(Object.fromEntries(short)) };
}

const sizeOf = (name: string, value: unknown): number =>
  typeof value === 'object' ? Infinity : name.length + JSON.stringify(value).length;

/** @param span as OTLP's JSON has it */
export function incomingSpan(span: unknown, resource: Resource): IncomingSpan {
  if (typeof span !== 'object' || span === null) throw new RejectedSpan('it is no object');
  const { attributes, leftOut } = attributesIn(span);
  const events = eventsIn(span);
  const middle = storedEvents / 2;
  const stored =
    events.length > storedEvents ? [...events.slice(0, middle), ...events.slice(-middle)] : events;
  const status = memberOf(span, 'status');
  return {
    traceId: idOf(textAt(span, 'traceId'), 32),
    spanId: idOf(textAt(span, 'spanId'), 16),
    parentSpanId: idOf(textAt(span, 'parentSpanId'), 16) || undefined,
    name: textAt(span, 'name'),
    startUs: microseconds(memberOf(span, 'startTimeUnixNano')),
    finishUs: microseconds(memberOf(span, 'endTimeUnixNano')),
    attributes: { ...resource.kept, ...attributes, ...(stored.length > 0 && { events: stored }) },
    leftOut,
    further: eventLookup(events.length > 0 ? events : attributes['events'], resource.lookup),
    status: statusIn(typeof status === 'object' ? memberOf(status, 'code') : status),
    failure: textAt(status, 'message') || undefined,
  };
}

function eventsIn(span: object): { name: string; time_us: number; attributes: Attributes }[] {
  let left = maxAttributes;
  return listAt(span, 'events')
    .slice(0, maxEvents)
    .map((event) => {
      const { attributes } = attributesIn(event, left);
      left -= Object.keys(attributes).length;
      const time_us = microseconds(memberOf(event, 'timeUnixNano')) || 0;
      return { name: textAt(event, 'name'), time_us, attributes };
    });
}

/** A null among them stands for one that was passed over. */
function attributesIn(owner: unknown, most = maxAttributes): ReadAttributes {
  const given = memberOf(owner, 'attributes') ?? [];
  if (typeof given !== 'object') throw new RejectedSpan('its attributes must be a list of {key, value}');
  const list = Array.isArray(given) ? (given as unknown[]) : Object.entries(given).map(pairOf);
  const read = list.slice(0, most).filter((pair) => pair !== null);
  return { attributes: pairs(read, 0), leftOut: list.length - read.length };
}

/** A member of attributes that were sent as an object, plain or as OTLP writes values. */
function pairOf([key, given]: [string, unknown]): unknown {
  const [type = ''] = typeof given === 'object' && given !== null ? Object.keys(given) : [];
  const isTyped = /^(string|int|double|bool|array|kvlist|bytes)Value$/.test(type);
  return { key, value: isTyped ? given : { plainValue: given } };
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

/** @returns empty for what is no id */
function idOf(id: string, digits: number): string {
  return id.length === digits && /^[\da-f]+$/i.test(id) && !zeros.test(id) ? id.toLowerCase() : '';
}

const pairs = (list: readonly unknown[], depth: number): Record<string, unknown> =>
  Object.fromEntries(list.map((pair) => [textAt(pair, 'key'), valueOf(memberOf(pair, 'value'), depth)]));
/** The value of an AnyValue. */
function valueOf(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return null;
  if (depth > deepest) return tooDeep;
  for (const [type, given] of Object.entries(value)) {
    if (type === 'intValue') return wholeNumber(given);
    if (type === 'arrayValue') return listAt(given, 'values').map((member) => valueOf(member, depth + 1));
    if (type === 'kvlistValue') return pairs(listAt(given, 'values'), depth + 1);
    if (type.endsWith('Value')) return given as unknown;
  }
  return null;
}

/** 64 bits may be more than a number holds exactly: then it stays text. */
function wholeNumber(given: unknown): unknown {
  const number = Number(given);
  return Number.isSafeInteger(number) ? number : String(given);
}

const listAt = (owner: unknown, name: string): unknown[] => {
  const list = memberOf(owner, name);
  return Array.isArray(list) ? (list as unknown[]) : [];
};

const textAt = (owner: unknown, name: string): string => {
  const text = memberOf(owner, name);
  return typeof text === 'string' ? text : '';
};

/** @returns NaN for what is no time */
function microseconds(nanoseconds: unknown): number {
  if (typeof nanoseconds === 'number') return Math.floor(nanoseconds / 1_000);
  return typeof nanoseconds === 'string' && /^\d{1,20}$/.test(nanoseconds)
    ? Number(BigInt(nanoseconds) / 1_000n)
    : NaN;
}
