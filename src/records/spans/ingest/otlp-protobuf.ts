import protobuf from 'protobufjs/minimal.js';
import {
  deepest,
  IncomingBatch,
  maxAttributes,
  maxEvents,
  RejectedSpan,
  TooLarge,
  tooDeep,
} from './incoming-span.js';
import { incomingSpan, type Resource, resourceOf } from './json-bodies.js';

type Reader = protobuf.Reader;
type Read = (reader: Reader, left: Left, depth: number) => unknown;
/**
 * The fields of a message by their numbers in OTLP's .proto files: the name in OTLP's JSON, the reader and, for a list, the
 * maximum number of members that are read. Other fields are skipped.
 */
type Message = Readonly<Record<number, readonly [name: string, read: Read, maxMembers?: number]>>;

/** Remaining limits of one span, one resource, or the fields around spans. */
interface Left {
  /** Each takes two bytes or more, and its time. */
  fields: number;
  /** Members of lists: each takes two bytes, and a hundred times that in memory. */
  members: number;
  readonly tooMany: () => Error;
}

const maxFields = 1_048_576;
const leftFor = (tooMany: () => Error): Left => ({ fields: maxFields, members: 65_536, tooMany });
const leftForOne = (): Left => leftFor(() => new RejectedSpan(`it has more than ${maxFields} fields`));
const maxIdLength = 16;

// Field numbers of ExportTraceServiceRequest, ResourceSpans and ScopeSpans.
const resourceSpans = 1;
const resource = 1;
const scopeSpans = 2;
const scope = 1;
const spans = 2;
const schemaUrl = 3;

/**
 * The spans of an ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1) in protobuf.
 * @throws Error if the bytes are not protobuf, TooLarge at the first span that is too many
 */
export function spansInProtobuf(body: Uint8Array): IncomingBatch {
  const batch = new IncomingBatch();
  const around = leftFor(() => new TooLarge(`A batch may have ${maxFields} fields around its spans`));
  const reader = protobuf.Reader.create(body);
  let hasUnknownFields = false;
  const fields = (end: number, read: Readonly<Record<number, () => void>>): void =>
    eachField(reader, end, around, (number, wireType) => {
      if (read[number]) return read[number]();
      if (number !== schemaUrl) hasUnknownFields = true;
      reader.skipType(wireType);
    });
  const within = (read: Readonly<Record<number, () => void>>): void => fields(endOf(reader), read);
  fields(reader.len, {
    [resourceSpans]: () => {
      // The resource may follow its spans, which are therefore read later.
      let described: unknown;
      let known: Resource | undefined;
      const addSpan = (): void => {
        const bytes = reader.bytes();
        batch.add(() => {
          const span = fieldsIn(protobuf.Reader.create(bytes), bytes.length, spanFields, leftForOne());
          return incomingSpan(span, (known ??= resourceOf(described, batch)));
        });
      };
      within({
        [resource]: () => (described = message(resourceFields)(reader, leftForOne(), 0)),
        [scopeSpans]: () => within({ [scope]: () => reader.skipType(2), [spans]: addSpan }),
      });
    },
  });
  if (batch.spans.length === 0 && hasUnknownFields)
    batch.remark('The body has fields that an ExportTraceServiceRequest has not, and no spans');
  return batch.checked();
}

/** The end of a message within another one. */
function endOf(reader: Reader): number {
  const end = reader.uint32() + reader.pos;
  if (end > reader.len) throw new RangeError('The body ends within a message');
  return end;
}

function eachField(
  reader: Reader,
  end: number,
  left: Left,
  read: (number: number, wireType: number) => void,
): void {
  while (reader.pos < end) {
    if (--left.fields < 0) throw left.tooMany();
    const tag = reader.uint32();
    read(tag >>> 3, tag & 7);
  }
  if (reader.pos > end) throw new RangeError('A field reaches beyond its message');
}

/** A member of a list that is not read is null, so that it can be counted. */
function fieldsIn(reader: Reader, end: number, fields: Message, left: Left, depth = 0): object {
  const found: Record<string, unknown> = {};
  eachField(reader, end, left, (number, wireType) => {
    const [name = '', read, most] = fields[number] ?? [];
    if (!read) reader.skipType(wireType);
    else if (most === undefined) found[name] = read(reader, left, depth);
    else {
      const list = (found[name] ??= []) as unknown[];
      if (list.length < most && --left.members >= 0) list.push(read(reader, left, depth));
      else {
        reader.skipType(wireType);
        if (most !== Infinity) list.push(null);
      }
    }
  });
  return found;
}

const message =
  (fields: Message): Read =>
  (reader, left, depth) =>
    fieldsIn(reader, endOf(reader), fields, left, depth);

const text: Read = (reader) => reader.string();
/** Empty for what is too long to be an id. */
const hex: Read = (reader) => {
  const bytes = reader.bytes();
  return bytes.length > maxIdLength ? '' : Buffer.from(bytes).toString('hex');
};
/** A number of 64 bits as protobufjs reads it. */
const bits = (value: number | { readonly low: number; readonly high: number }): bigint =>
  typeof value === 'number' ? BigInt(value) : (BigInt(value.high >>> 0) << 32n) | BigInt(value.low >>> 0);
const time: Read = (reader) => String(bits(reader.fixed64()));

const keyValue: Message = { 1: ['key', text], 2: ['value', value] };
const anyValue: Message = {
  1: ['stringValue', text],
  2: ['boolValue', (reader) => reader.bool()],
  3: ['intValue', (reader) => String(BigInt.asIntN(64, bits(reader.int64())))],
  4: ['doubleValue', (reader) => reader.double()],
  5: ['arrayValue', message({ 1: ['values', value, Infinity] })],
  6: ['kvlistValue', message({ 1: ['values', message(keyValue), Infinity] })],
  7: ['bytesValue', (reader) => Buffer.from(reader.bytes()).toString('base64')],
};

/** An AnyValue, one level deeper than what it stands in. */
function value(reader: Reader, left: Left, depth: number): unknown {
  if (depth <= deepest) return message(anyValue)(reader, left, depth + 1);
  reader.skipType(2);
  return { stringValue: tooDeep };
}

const attributes = ['attributes', message(keyValue), maxAttributes] as const;
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
  11: ['events', message(eventFields), maxEvents],
  15: ['status', message(statusFields)],
};
