import protobuf from 'protobufjs/minimal.js';
import type { Attributes } from './attribute-lookup.js';
import { type ReadSpan, wholeNumber } from './otlp-json.js';
import { incomingSpan, type OtlpEvent, type OtlpSpan } from './otlp-span.js';

type Reader = protobuf.Reader;
/** What to do with a field, by its number; others are passed over. */
type Fields = Readonly<Record<number, (reader: Reader) => void>>;

const deepest = 32;
const tooDeep = `[nested deeper than ${deepest} levels]`;

/**
 * The spans of an ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1) in protobuf.
 * @throws Error for bytes that are none
 */
export function spansInProtobuf(body: Uint8Array): ReadSpan[] {
  const spans: ReadSpan[] = [];
  const reader = protobuf.Reader.create(body);
  readFields(reader, reader.len, { 1: (at) => spans.push(...resourceSpans(at)) });
  return spans;
}

function resourceSpans(reader: Reader): ReadSpan[] {
  let resource: Attributes = {};
  const spans: OtlpSpan[] = [];
  readMessage(reader, {
    1: (at) => {
      const pairs: Pair[] = [];
      readMessage(at, { 1: (pair) => pairs.push(keyValue(pair, 0)) });
      resource = Object.fromEntries(pairs);
    },
    2: (at) => readMessage(at, { 2: (span) => spans.push(spanOf(span)) }),
  });
  return spans.map((span) => () => incomingSpan(span, resource));
}

function spanOf(reader: Reader): OtlpSpan {
  const span = { traceId: '', spanId: '', parentSpanId: '', name: '', startUs: NaN, endUs: NaN };
  const attributes: Pair[] = [];
  const events: OtlpEvent[] = [];
  const status = { failed: false, message: '' };
  readMessage(reader, {
    1: (at) => (span.traceId = hex(at)),
    2: (at) => (span.spanId = hex(at)),
    4: (at) => (span.parentSpanId = hex(at)),
    5: (at) => (span.name = at.string()),
    7: (at) => (span.startUs = microseconds(at)),
    8: (at) => (span.endUs = microseconds(at)),
    9: (at) => attributes.push(keyValue(at, 0)),
    11: (at) => events.push(eventOf(at)),
    15: (at) =>
      readMessage(at, {
        2: (text) => (status.message = text.string()),
        3: (code) => (status.failed = code.int32() === 2),
      }),
  });
  return { ...span, ...status, attributes: Object.fromEntries(attributes), events };
}

function eventOf(reader: Reader): OtlpEvent {
  const event = { name: '', timeUs: 0 };
  const attributes: Pair[] = [];
  readMessage(reader, {
    1: (at) => (event.timeUs = microseconds(at)),
    2: (at) => (event.name = at.string()),
    3: (at) => attributes.push(keyValue(at, 0)),
  });
  return { ...event, attributes: Object.fromEntries(attributes) };
}

type Pair = readonly [key: string, value: unknown];

function keyValue(reader: Reader, depth: number): Pair {
  let key = '';
  let value: unknown = null;
  readMessage(reader, { 1: (at) => (key = at.string()), 2: (at) => (value = anyValue(at, depth)) });
  return [key, value];
}

function anyValue(reader: Reader, depth: number): unknown {
  if (depth > deepest) {
    reader.bytes();
    return tooDeep;
  }
  let value: unknown = null;
  readMessage(reader, {
    1: (at) => (value = at.string()),
    2: (at) => (value = at.bool()),
    3: (at) => (value = wholeNumber(BigInt.asIntN(64, bits(at.int64())))),
    4: (at) => (value = at.double()),
    5: (at) => {
      const members: unknown[] = [];
      readMessage(at, { 1: (member) => members.push(anyValue(member, depth + 1)) });
      value = members;
    },
    6: (at) => {
      const pairs: Pair[] = [];
      readMessage(at, { 1: (pair) => pairs.push(keyValue(pair, depth + 1)) });
      value = Object.fromEntries(pairs);
    },
    7: (at) => (value = Buffer.from(at.bytes()).toString('base64')),
  });
  return value;
}

/** A message within another one: its length, then its fields. */
function readMessage(reader: Reader, fields: Fields): void {
  const end = reader.uint32() + reader.pos;
  if (end > reader.len) throw new RangeError('The body ends within a message');
  readFields(reader, end, fields);
}

function readFields(reader: Reader, end: number, fields: Fields): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    const read = fields[tag >>> 3];
    if (read) read(reader);
    else reader.skipType(tag & 7);
  }
  if (reader.pos > end) throw new RangeError('A field reaches beyond its message');
}

const hex = (reader: Reader): string => Buffer.from(reader.bytes()).toString('hex');

/** A number of 64 bits as protobufjs reads it. */
const bits = (value: number | { readonly low: number; readonly high: number }): bigint =>
  typeof value === 'number' ? BigInt(value) : (BigInt(value.high >>> 0) << 32n) | BigInt(value.low >>> 0);

const microseconds = (reader: Reader): number => Number(bits(reader.fixed64()) / 1_000n);
