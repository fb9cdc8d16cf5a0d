import { memberOf } from './attribute-lookup.js';
import { type IncomingSpan, RejectedSpan } from './incoming-span.js';
import { incomingSpan, type OtlpEvent } from './otlp-span.js';

/** Reads one span of a batch. @throws RejectedSpan for what is none */
export type ReadSpan = () => IncomingSpan;

const tooDeep = '[nested deeper than 32 levels]';
const deepest = 32;

/**
 * The spans of an ExportTraceServiceRequest in JSON.
 * @throws SyntaxError for what is no such request
 */
export function spansInJson(body: unknown): ReadSpan[] {
  const groups = memberOf(body, 'resourceSpans');
  if (groups !== undefined && !Array.isArray(groups)) throw new SyntaxError('resourceSpans must be a list');
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new SyntaxError('The body must be an object with resourceSpans');
  return listAt(body, 'resourceSpans').flatMap((group) => {
    const resource = attributesIn(memberOf(group, 'resource'));
    const scopes = listAt(group, 'scopeSpans');
    return scopes.flatMap((scope) =>
      listAt(scope, 'spans').map((span) => () => incomingSpan(otlpSpan(span), resource)),
    );
  });
}

function otlpSpan(span: unknown) {
  if (typeof span !== 'object' || span === null) throw new RejectedSpan('it is no object');
  const status = memberOf(span, 'status');
  const code = memberOf(status, 'code');
  return {
    traceId: textAt(span, 'traceId'),
    spanId: textAt(span, 'spanId'),
    parentSpanId: textAt(span, 'parentSpanId'),
    name: textAt(span, 'name'),
    startUs: microseconds(memberOf(span, 'startTimeUnixNano')),
    endUs: microseconds(memberOf(span, 'endTimeUnixNano')),
    attributes: attributesIn(span),
    events: listAt(span, 'events').map(eventOf),
    failed: code === 2 || code === 'STATUS_CODE_ERROR',
    message: textAt(status, 'message'),
  };
}

const eventOf = (event: unknown): OtlpEvent => ({
  name: textAt(event, 'name'),
  timeUs: microseconds(memberOf(event, 'timeUnixNano')) || 0,
  attributes: attributesIn(event),
});

function attributesIn(owner: unknown): Record<string, unknown> {
  return pairs(listAt(owner, 'attributes'), 0);
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
