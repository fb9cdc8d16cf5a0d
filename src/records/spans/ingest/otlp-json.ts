import { memberOf } from './attribute-lookup.js';
import { IncomingBatch, mostAttributes, mostEvents, RejectedSpan } from './incoming-span.js';
import {
  incomingSpan,
  type OtlpEvent,
  type OtlpSpan,
  type ReadAttributes,
  resourceOf,
  type Resource,
} from './otlp-span.js';

const tooDeep = '[nested deeper than 32 levels]';
const deepest = 32;

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
    const resource = (): Resource =>
      (shared ??= resourceOf(attributesIn(memberOf(group, 'resource')), batch));
    for (const scope of membersOf(group, 'scopeSpans', batch))
      for (const span of membersOf(scope, 'spans', batch))
        batch.add(() => incomingSpan(otlpSpan(span), resource()));
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

function otlpSpan(span: unknown): OtlpSpan {
  if (typeof span !== 'object' || span === null) throw new RejectedSpan('it is no object');
  const status = memberOf(span, 'status');
  return {
    traceId: textAt(span, 'traceId'),
    spanId: textAt(span, 'spanId'),
    parentSpanId: textAt(span, 'parentSpanId'),
    name: textAt(span, 'name'),
    startUs: microseconds(memberOf(span, 'startTimeUnixNano')),
    endUs: microseconds(memberOf(span, 'endTimeUnixNano')),
    ...attributesIn(span),
    events: eventsIn(span),
    statusCode: typeof status === 'object' ? memberOf(status, 'code') : status,
    message: textAt(status, 'message'),
  };
}

function eventsIn(span: object): OtlpEvent[] {
  let left = mostAttributes;
  return listAt(span, 'events')
    .slice(0, mostEvents)
    .map((event) => {
      const { attributes } = attributesIn(event, left);
      left -= Object.keys(attributes).length;
      return {
        name: textAt(event, 'name'),
        timeUs: microseconds(memberOf(event, 'timeUnixNano')) || 0,
        attributes,
      };
    });
}

function attributesIn(owner: unknown, most = mostAttributes): ReadAttributes {
  const list = listAt(owner, 'attributes');
  return { attributes: pairs(list.slice(0, most), 0), leftOut: Math.max(0, list.length - most) };
}

const pairs = (list: readonly unknown[], depth: number): Record<string, unknown> =>
  Object.fromEntries(list.map((pair) => [textAt(pair, 'key'), valueOf(memberOf(pair, 'value'), depth)]));
/** Of an AnyValue the one member that it has. */
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
export function wholeNumber(given: unknown): unknown {
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
