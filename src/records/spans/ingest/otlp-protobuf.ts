import protobuf from 'protobufjs/minimal.js';
import {
  IncomingBatch,
  maxAttributes,
  maxDepth,
  maxEvents,
  RejectedSpan,
  TooLarge,
  tooDeep,
} from './incoming-span.js';
import { incomingSpan, type Resource, resourceOf } from './otlp-json.js';

// Decodes OTLP's protobuf to the form of OTLP's JSON, which otlp-json.ts then reads. Limits hold while a body is decoded,
// because a few bytes can stand for large objects.

type Reader = protobuf.Reader;
/** Reads a field's value in the form of OTLP's JSON. @param depth levels of values around it */
type Read = (reader: Reader, remaining: Remaining, depth: number) => unknown;
/**
 * The fields of a message by their numbers in OTLP's .proto files: the name in OTLP's JSON, the reader and, for a list, the
 * maximum number of members that are read. Other fields are skipped.
 */
type Message = Readonly<Record<number, readonly [name: string, read: Read, maxMembers?: number]>>;

/** What may still be read of one span, of one resource, or of the messages around spans. */
interface Remaining {
  /** Number of fields. It limits the time, because a field may have only two bytes. */
  fields: number;
  /** Number of list members. It limits the memory: a member of two bytes takes about two hundred of them. */
  members: number;
  readonly tooMany: () => Error;
}

const maxFields = 1_048_576;
const maxMembers = 65_536;
/** The whole limits. @param tooMany makes the error for too many fields */
const wholeLimits = (tooMany: () => Error): Remaining => ({
  fields: maxFields,
  members: maxMembers,
  tooMany,
});
/** The whole limits of a span or a resource. */
const limitsOfOne = (): Remaining =>
  wholeLimits(() => new RejectedSpan(`it has more than ${maxFields} fields`));
/** Bytes of a trace id. */
const maxIdBytes = 16;

/** Wire type of messages, texts and bytes. */
const lengthDelimited = 2;

// Field numbers of ExportTraceServiceRequest, ResourceSpans and ScopeSpans.
const resourceSpans = 1;
const resource = 1;
const scopeSpans = 2;
const scope = 1;
const spans = 2;
const schemaUrl = 3;

/** Functions that read the fields around spans, by field number. */
type FieldReaders = Readonly<Record<number, () => void>>;

/**
 * Reads the spans of an ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1) in protobuf.
 * @throws Error if the bytes are not protobuf; TooLarge if there are too many spans, or fields around them
 */
export function spansInProtobuf(body: Uint8Array): IncomingBatch {
  const batch = new IncomingBatch();
  const around = wholeLimits(() => new TooLarge(`A batch may have ${maxFields} fields around its spans`));
  const reader = protobuf.Reader.create(body);
  let hasUnknownFields = false;
  const readFieldsUntil = (end: number, readers: FieldReaders): void =>
    eachField(reader, end, around, (number, wireType) => {
      if (readers[number]) return readers[number]();
      if (number !== schemaUrl) hasUnknownFields = true;
      reader.skipType(wireType);
    });
  const readMessage = (readers: FieldReaders): void => readFieldsUntil(endOf(reader), readers);
  readFieldsUntil(reader.len, {
    [resourceSpans]: () => {
      // The resource may follow its spans, so spans are read when all fields are known.
      let decoded: unknown;
      let shared: Resource | undefined;
      const addSpan = (): void => {
        const bytes = reader.bytes();
        batch.add(() => {
          const span = fieldsIn(protobuf.Reader.create(bytes), bytes.length, spanFields, limitsOfOne());
          return incomingSpan(span, (shared ??= resourceOf(decoded, batch)));
        });
      };
      readMessage({
        [resource]: () => (decoded = messageWith(resourceFields)(reader, limitsOfOne(), 0)),
        [scopeSpans]: () =>
          readMessage({ [scope]: () => reader.skipType(lengthDelimited), [spans]: addSpan }),
      });
    },
  });
  if (batch.spans.length === 0 && hasUnknownFields)
    batch.remark('The body has fields that an ExportTraceServiceRequest has not, and no spans');
  return batch.checked();
}

/** Reads the length of a message within another one. @returns the position of its end */
function endOf(reader: Reader): number {
  const end = reader.uint32() + reader.pos;
  if (end > reader.len) throw new RangeError('The body ends within a message');
  return end;
}

/** Calls a function at each field of a message; it reads or skips the value. */
function eachField(
  reader: Reader,
  end: number,
  remaining: Remaining,
  readOrSkip: (number: number, wireType: number) => void,
): void {
  while (reader.pos < end) {
    if (--remaining.fields < 0) throw remaining.tooMany();
    const tag = reader.uint32();
    readOrSkip(tag >>> 3, tag & 7);
  }
  if (reader.pos > end) throw new RangeError('A field reaches beyond its message');
}

/** Reads a message as an object. Members of a limited list that are not read are null, so that they can be counted. */
function fieldsIn(reader: Reader, end: number, fields: Message, remaining: Remaining, depth = 0): object {
  const found: Record<string, unknown> = {};
  eachField(reader, end, remaining, (number, wireType) => {
    const [name = '', read, maxMembers] = fields[number] ?? [];
    if (!read) reader.skipType(wireType);
    else if (maxMembers === undefined) found[name] = read(reader, remaining, depth);
    else {
      const list = (found[name] ??= []) as unknown[];
      if (list.length < maxMembers && --remaining.members >= 0) list.push(read(reader, remaining, depth));
      else {
        reader.skipType(wireType);
        if (maxMembers !== Infinity) list.push(null);
      }
    }
  });
  return found;
}

/** Reads a message with these fields. */
const messageWith =
  (fields: Message): Read =>
  (reader, remaining, depth) =>
    fieldsIn(reader, endOf(reader), fields, remaining, depth);

const text: Read = (reader) => reader.string();
/** An id in hexadecimal digits; empty if it is too long. */
const hex: Read = (reader) => {
  const bytes = reader.bytes();
  return bytes.length > maxIdBytes ? '' : Buffer.from(bytes).toString('hex');
};
/** A 64-bit integer that protobufjs read, as a number or as two halves. */
const bits = (value: number | { readonly low: number; readonly high: number }): bigint =>
  typeof value === 'number' ? BigInt(value) : (BigInt(value.high >>> 0) << 32n) | BigInt(value.low >>> 0);
const time: Read = (reader) => String(bits(reader.fixed64()));

const keyValue: Message = { 1: ['key', text], 2: ['value', value] };
const anyValue: Message = {
  1: ['stringValue', text],
  2: ['boolValue', (reader) => reader.bool()],
  3: ['intValue', (reader) => String(BigInt.asIntN(64, bits(reader.int64())))],
  4: ['doubleValue', (reader) => reader.double()],
  5: ['arrayValue', messageWith({ 1: ['values', value, Infinity] })],
  6: ['kvlistValue', messageWith({ 1: ['values', messageWith(keyValue), Infinity] })],
  7: ['bytesValue', (reader) => Buffer.from(reader.bytes()).toString('base64')],
};

/** Reads an AnyValue, one level deeper than the value or attribute around it. */
function value(reader: Reader, remaining: Remaining, depth: number): unknown {
  if (depth <= maxDepth) return messageWith(anyValue)(reader, remaining, depth + 1);
  reader.skipType(lengthDelimited);
  return { stringValue: tooDeep };
}

// The fields that are read, with their numbers.
const attributes = ['attributes', messageWith(keyValue), maxAttributes] as const;
const resourceFields: Message = { 1: attributes };
const eventFields: Message = { 1: ['timeUnixNano', time], 2: ['name', text], 3: attributes };
const statusFields: Message = { 2: ['message', text], 3: ['code', (reader) => reader.int32()] };
const spanFields: Message = {
  1: ['traceId', hex],
  2: ['spanId', hex],
  4: ['parentSpanId', hex],
  5: ['name', text],
  7: ['startTimeUnixNano', time],
  8: ['endTimeUnixNano', time],
  9: attributes,
  11: ['events', messageWith(eventFields), maxEvents],
  15: ['status', messageWith(statusFields)],
};
