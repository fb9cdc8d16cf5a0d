import protobuf from 'protobufjs/minimal.js';
import { IncomingBatch, mostAttributes, mostEvents, RejectedSpan, TooLarge } from './incoming-span.js';
import { wholeNumber } from './otlp-json.js';
import {
  incomingSpan,
  type OtlpEvent,
  type OtlpSpan,
  type ReadAttributes,
  type Resource,
  resourceOf,
} from './otlp-span.js';

type Reader = protobuf.Reader;
/** Readers of fields, by number; other fields are passed over. */
type Fields = Readonly<Record<number, (reader: Reader) => void>>;

const deepest = 32;
const tooDeep = `[nested deeper than ${deepest} levels]`;
/** Values of one span, lists' members among them: a list takes two bytes a member, and a hundred times that in memory. */
const mostValues = 65_536;
/** Fields of one span, and of a batch around its spans: each takes two bytes or more, and its time. */
const mostFields = 1_048_576;
const longestId = 16;

/**
 * The spans of an ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1) in protobuf.
 * @throws Error for bytes that are none, TooLarge at the first span that is too many
 */
export function spansInProtobuf(body: Uint8Array): IncomingBatch {
  const batch = new IncomingBatch();
  const around = new MessageReader(
    () => new TooLarge(`A batch may have ${mostFields} fields around its spans`),
  );
  const reader = protobuf.Reader.create(body);
  around.fields(reader, reader.len, { 1: (at) => readResourceSpans(at, around, batch) });
  if (batch.spans.length === 0 && around.passedOver)
    batch.remark('The body has fields that an ExportTraceServiceRequest has not, and no spans');
  return batch.checked();
}

function readResourceSpans(reader: Reader, around: MessageReader, batch: IncomingBatch): void {
  // Its fields may follow its spans, which are read later.
  let fields: ReadAttributes = { attributes: {}, leftOut: 0 };
  let resource: Resource | undefined;
  const scope: Fields = {
    1: passOver,
    2: (at) => {
      const bytes = at.bytes();
      batch.add(() => incomingSpan(messageReader().span(bytes), (resource ??= resourceOf(fields, batch))));
    },
    3: passOver,
  };
  around.message(reader, {
    1: (at) => (fields = messageReader().resource(at)),
    2: (at) => around.message(at, scope),
    3: passOver,
  });
}

const passOver = (reader: Reader): void => void reader.bytes();

const messageReader = (): MessageReader =>
  new MessageReader(() => new RejectedSpan(`it has more than ${mostFields} fields`));

type Pair = readonly [key: string, value: unknown];

/** Reads one span, one resource, or what stands around spans, and no more fields and values than one may have. */
class MessageReader {
  /** A field was passed over because nobody reads it. */
  passedOver = false;
  private fieldsLeft = mostFields;
  private values = 0;
  private leftOut = 0;

  constructor(private readonly tooMany: () => Error) {}

  resource(reader: Reader): ReadAttributes {
    const pairs: Pair[] = [];
    this.message(reader, { 1: (pair) => this.attribute(pair, pairs) });
    return { attributes: Object.fromEntries(pairs), leftOut: this.leftOut };
  }

  span(bytes: Uint8Array): OtlpSpan {
    const reader = protobuf.Reader.create(bytes);
    const span = { traceId: '', spanId: '', parentSpanId: '', name: '', startUs: NaN, endUs: NaN };
    const status = { statusCode: 0, message: '' };
    const pairs: Pair[] = [];
    const events: OtlpEvent[] = [];
    let ofEvents = 0;
    this.fields(reader, reader.len, {
      1: (at) => (span.traceId = hex(at)),
      2: (at) => (span.spanId = hex(at)),
      4: (at) => (span.parentSpanId = hex(at)),
      5: (at) => (span.name = at.string()),
      7: (at) => (span.startUs = microseconds(at)),
      8: (at) => (span.endUs = microseconds(at)),
      9: (at) => this.attribute(at, pairs),
      11: (at) => {
        if (events.length >= mostEvents) return passOver(at);
        const event = this.event(at, mostAttributes - ofEvents);
        ofEvents += Object.keys(event.attributes).length;
        events.push(event);
      },
      15: (at) =>
        this.message(at, {
          2: (text) => (status.message = text.string()),
          3: (code) => (status.statusCode = code.int32()),
        }),
    });
    return { ...span, ...status, attributes: Object.fromEntries(pairs), leftOut: this.leftOut, events };
  }

  /** A message within another one: its length, then its fields. */
  message(reader: Reader, fields: Fields): void {
    const end = reader.uint32() + reader.pos;
    if (end > reader.len) throw new RangeError('The body ends within a message');
    this.fields(reader, end, fields);
  }

  fields(reader: Reader, end: number, fields: Fields): void {
    while (reader.pos < end) {
      if (--this.fieldsLeft < 0) throw this.tooMany();
      const tag = reader.uint32();
      const read = fields[tag >>> 3];
      this.passedOver ||= !read;
      if (read) read(reader);
      else reader.skipType(tag & 7);
    }
    if (reader.pos > end) throw new RangeError('A field reaches beyond its message');
  }

  private event(reader: Reader, most: number): OtlpEvent {
    const event = { name: '', timeUs: 0 };
    const pairs: Pair[] = [];
    this.message(reader, {
      1: (at) => (event.timeUs = microseconds(at)),
      2: (at) => (event.name = at.string()),
      3: (at) => this.attribute(at, pairs, most),
    });
    return { ...event, attributes: Object.fromEntries(pairs) };
  }

  private attribute(reader: Reader, pairs: Pair[], most = mostAttributes): void {
    if (this.values < mostValues && pairs.length < most) pairs.push(this.keyValue(reader, 0));
    else {
      this.leftOut += 1;
      passOver(reader);
    }
  }

  private keyValue(reader: Reader, depth: number): Pair {
    let key = '';
    let value: unknown = null;
    this.message(reader, { 1: (at) => (key = at.string()), 2: (at) => (value = this.value(at, depth)) });
    return [key, value];
  }

  private value(reader: Reader, depth: number): unknown {
    this.values += 1;
    if (depth > deepest) {
      reader.bytes();
      return tooDeep;
    }
    let value: unknown = null;
    this.message(reader, {
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
    this.message(reader, {
      1: (at) => {
        if (this.values < mostValues) members.push(read(at));
        else at.bytes();
      },
    });
    return members;
  }
}

/** @returns empty for what is too long to be an id */
function hex(reader: Reader): string {
  const bytes = reader.bytes();
  return bytes.length > longestId ? '' : Buffer.from(bytes).toString('hex');
}

/** A number of 64 bits as protobufjs reads it. */
const bits = (value: number | { readonly low: number; readonly high: number }): bigint =>
  typeof value === 'number' ? BigInt(value) : (BigInt(value.high >>> 0) << 32n) | BigInt(value.low >>> 0);

const microseconds = (reader: Reader): number => Number(bits(reader.fixed64()) / 1_000n);
