import protobuf from 'protobufjs/minimal.js';
import type { Attributes } from './attribute-lookup.js';
import { type ReadSpan, wholeNumber } from './otlp-json.js';
import { incomingSpan, type OtlpEvent, type OtlpSpan } from './otlp-span.js';

type Reader = protobuf.Reader;
/** Readers of fields, by number; other fields are passed over. */
type Fields = Readonly<Record<number, (reader: Reader) => void>>;

const deepest = 32;
const tooDeep = `[nested deeper than ${deepest} levels]`;
/** Values of one span, lists' members among them: a list takes two bytes a member, and a hundred times that in memory. */
const mostValues = 65_536;
const mostEvents = 1_024;

/**
 * The spans of an ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1) in protobuf. Each is read when it is
 * asked for, so that what a batch unfolds to is in memory one span at a time.
 * @throws Error for bytes that are none
 */
export function spansInProtobuf(body: Uint8Array): ReadSpan[] {
  const spans: ReadSpan[] = [];
  const reader = protobuf.Reader.create(body);
  readFields(reader, reader.len, { 1: (at) => readResourceSpans(at, spans) });
  return spans;
}

function readResourceSpans(reader: Reader, into: ReadSpan[]): void {
  let resource: Attributes = {};
  readMessage(reader, {
    1: (at) => {
      const read = new ValueReader();
      readMessage(at, { 1: (pair) => read.attribute(pair) });
      resource = read.attributes();
    },
    2: (at) =>
      readMessage(at, {
        2: (span) => {
          const bytes = span.bytes();
          into.push(() => incomingSpan(spanOf(protobuf.Reader.create(bytes)), resource));
        },
      }),
  });
}

function spanOf(reader: Reader): OtlpSpan {
  const span = { traceId: '', spanId: '', parentSpanId: '', name: '', startUs: NaN, endUs: NaN };
  const read = new ValueReader();
  const events: OtlpEvent[] = [];
  const status = { failed: false, message: '' };
  readFields(reader, reader.len, {
    1: (at) => (span.traceId = hex(at)),
    2: (at) => (span.spanId = hex(at)),
    4: (at) => (span.parentSpanId = hex(at)),
    5: (at) => (span.name = at.string()),
    7: (at) => (span.startUs = microseconds(at)),
    8: (at) => (span.endUs = microseconds(at)),
    9: (at) => read.attribute(at),
    11: (at) => {
      if (events.length < mostEvents) events.push(eventOf(at));
      else at.bytes();
    },
    15: (at) =>
      readMessage(at, {
        2: (text) => (status.message = text.string()),
        3: (code) => (status.failed = code.int32() === 2),
      }),
  });
  return { ...span, ...status, attributes: read.attributes(), events };
}

function eventOf(reader: Reader): OtlpEvent {
  const event = { name: '', timeUs: 0 };
  const read = new ValueReader();
  readMessage(reader, {
    1: (at) => (event.timeUs = microseconds(at)),
    2: (at) => (event.name = at.string()),
    3: (at) => read.attribute(at),
  });
  return { ...event, attributes: read.attributes() };
}

type Pair = readonly [key: string, value: unknown];

/** Reads attributes, and no more than so many values. */
class ValueReader {
  private readonly pairs: Pair[] = [];
  private values = 0;

  attributes(): Attributes {
    return Object.fromEntries(this.pairs);
  }

  attribute(reader: Reader): void {
    if (this.values < mostValues) this.pairs.push(this.keyValue(reader, 0));
    else reader.bytes();
  }

  private keyValue(reader: Reader, depth: number): Pair {
    let key = '';
    let value: unknown = null;
    readMessage(reader, { 1: (at) => (key = at.string()), 2: (at) => (value = this.value(at, depth)) });
    return [key, value];
  }

  private value(reader: Reader, depth: number): unknown {
    this.values += 1;
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
      5: (at) => (value = this.members(at, (member) => this.value(member, depth + 1))),
      6: (at) => (value = Object.fromEntries(this.members(at, (pair) => this.keyValue(pair, depth + 1)))),
      7: (at) => (value = Buffer.from(at.bytes()).toString('base64')),
    });
    return value;
  }

  private members<T>(reader: Reader, read: (member: Reader) => T): T[] {
    const members: T[] = [];
    readMessage(reader, {
      1: (at) => {
        if (this.values < mostValues) members.push(read(at));
        else at.bytes();
      },
    });
    return members;
  }
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
