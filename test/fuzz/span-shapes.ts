import protobuf from 'protobufjs/minimal.js';
import type { Random } from '../chaos/random.js';

/** A batch of spans that may cost more than its bytes. */
export interface SpanCase {
  readonly what: string;
  readonly type: 'application/json' | 'application/x-protobuf';
  readonly body: () => Buffer;
}

/** Makes the factors of a batch; each is grown alone and with the others. */
interface Factors {
  readonly spans: number;
  readonly attributes: number;
  readonly ofResource: number;
  readonly events: number;
  readonly ofEvents: number;
  readonly links: number;
  readonly levels: number;
  /** Characters of a value. */
  readonly chars: number;
}

const none: Factors = {
  spans: 1,
  attributes: 0,
  ofResource: 0,
  events: 0,
  ofEvents: 0,
  links: 0,
  levels: 0,
  chars: 1,
};
/** The most of each: what fits into 16 MiB with a single other one. */
const most: Factors = {
  spans: 100_000,
  attributes: 200_000,
  ofResource: 200_000,
  events: 50_000,
  ofEvents: 50_000,
  links: 50_000,
  levels: 400,
  chars: 1_000_000,
};
const maxBodyLength = 16_000_000;
/** Names that are looked for, and lists that are written flat. */
const names = [
  'gen_ai.prompt.0.a.b',
  'llm.input_messages.1.message.role',
  'usage',
  'output',
  'a',
  'toolkeeper.run_id',
];

const nested = (levels: number, value: object): object =>
  levels === 0 ? value : { arrayValue: { values: [nested(levels - 1, value)] } };

function attributesOf(count: number, { levels, chars }: Factors): object[] {
  const value = nested(levels, {
    stringValue: '{"a":"error: "}'.repeat(Math.ceil(chars / 15)).slice(0, chars),
  });
  return Array.from({ length: count }, (_, n) => ({
    key: `${names[n % names.length]}${n < 6 ? '' : n}`,
    value,
  }));
}

function jsonOf(factors: Factors): Buffer {
  const now = `${Date.now() - 1_000}000000`;
  const { spans, attributes, ofResource, events, ofEvents, links } = factors;
  const own = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    name: 'chat',
    startTimeUnixNano: now,
    endTimeUnixNano: now,
    attributes: attributesOf(attributes, factors),
    events: Array.from({ length: events }, () => ({
      name: 'e',
      attributes: attributesOf(ofEvents, factors),
    })),
    links: Array.from({ length: links }, () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) })),
  };
  const resource = { attributes: attributesOf(ofResource, factors) };
  const span = JSON.stringify(own);
  const fit = Math.max(1, Math.min(spans, Math.floor(maxBodyLength / (span.length + 1))));
  const list = Array(fit).fill(span).join();
  return Buffer.from(
    `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"spans":[${list}]}]}]}`,
  );
}

type Writer = protobuf.Writer;
const message = (writer: Writer, field: number, inner: Uint8Array): Writer =>
  writer.uint32((field << 3) | 2).bytes(inner);
const text = (writer: Writer, field: number, value: string): Writer =>
  writer.uint32((field << 3) | 2).string(value);

function pairs(writer: Writer, field: number, count: number, { levels, chars }: Factors): Writer {
  let value = text(
    protobuf.Writer.create(),
    1,
    '{"a":"error: "}'.repeat(Math.ceil(chars / 15)).slice(0, chars),
  ).finish();
  for (let level = 0; level < levels; level++)
    value = message(
      protobuf.Writer.create(),
      5,
      message(protobuf.Writer.create(), 1, value).finish(),
    ).finish();
  for (let n = 0; n < count; n++) {
    const key = `${names[n % names.length]}${n < 6 ? '' : n}`;
    message(writer, field, message(text(protobuf.Writer.create(), 1, key), 2, value).finish());
  }
  return writer;
}

function protobufOf(factors: Factors): Buffer {
  const { spans, attributes, ofResource, events, ofEvents, links } = factors;
  const ns = `${Date.now() - 1_000}000000`;
  const span = protobuf.Writer.create();
  message(span, 1, Buffer.alloc(16, 1));
  message(span, 2, Buffer.alloc(8, 1));
  text(span, 5, 'chat');
  for (const field of [7, 8]) span.uint32((field << 3) | 1).fixed64(ns);
  pairs(span, 9, attributes, factors);
  const event = pairs(protobuf.Writer.create(), 3, ofEvents, factors).finish();
  for (let n = 0; n < events; n++) message(span, 11, event);
  for (let n = 0; n < links; n++) message(span, 13, Buffer.alloc(0));
  const bytes = span.finish();
  const fit = Math.max(1, Math.min(spans, Math.floor(maxBodyLength / (bytes.length + 4))));
  const group = protobuf.Writer.create();
  message(group, 1, pairs(protobuf.Writer.create(), 1, ofResource, factors).finish());
  const scope = protobuf.Writer.create();
  for (let n = 0; n < fit; n++) message(scope, 2, bytes);
  message(group, 2, scope.finish());
  return Buffer.from(message(protobuf.Writer.create(), 1, group.finish()).finish());
}

const bytesOf = ({ attributes, ofResource, events, ofEvents, links, levels, chars }: Factors): number =>
  (attributes + ofResource + events * Math.max(1, ofEvents)) * (40 + chars + 40 * levels) + links * 80;

/** What stood in no span: each byte was a span, a scope, a field or a list of its own. */
const raw: Readonly<Record<string, () => Buffer>> = {
  '5,000,000 empty spans': () => within(within(Buffer.alloc(10_000_000, Buffer.from([18, 0])), 18), 10),
  '5,000,000 empty scopes': () => within(Buffer.alloc(10_000_000, Buffer.from([18, 0])), 10),
  '5,000,000 empty resources': () => Buffer.alloc(10_000_000, Buffer.from([10, 0])),
  'a span of 5,000,000 ids': () =>
    within(within(within(Buffer.alloc(10_000_000, Buffer.from([10, 0])), 18), 18), 10),
  'a span of 5,000,000 events': () =>
    within(within(within(Buffer.alloc(10_000_000, Buffer.from([90, 0])), 18), 18), 10),
  'a span of 5,000,000 attributes': () =>
    within(within(within(Buffer.alloc(10_000_000, Buffer.from([74, 0])), 18), 18), 10),
  'an id of 30 MB': () => within(within(within(within(Buffer.alloc(30_000_000), 10), 18), 18), 10),
};

const within = (bytes: Uint8Array, tag: number): Buffer =>
  Buffer.from(protobuf.Writer.create().uint32(tag).bytes(bytes).finish());

/** Every factor at every size, each with spans, and random mixtures of all. */
export function spanCases(random: Random, count: number): SpanCase[] {
  const cases: SpanCase[] = Object.entries(raw).map(([what, body]) => ({
    what,
    type: 'application/x-protobuf',
    body,
  }));
  const add = (factors: Factors): void => {
    if (bytesOf(factors) > maxBodyLength) return;
    const what = Object.entries(factors)
      .filter(([, value]) => value > 1)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ');
    cases.push({ what: `json: ${what}`, type: 'application/json', body: () => jsonOf(factors) });
    cases.push({
      what: `protobuf: ${what}`,
      type: 'application/x-protobuf',
      body: () => protobufOf(factors),
    });
  };
  for (const name of Object.keys(most) as (keyof Factors)[])
    for (const share of [0.01, 0.1, 1])
      for (const spans of [1, 1_000, 100_000])
        add({ ...none, attributes: 1, spans, [name]: Math.ceil(most[name] * share) });
  while (cases.length < count) {
    const drawn = (name: keyof Factors): number => Math.floor(most[name] ** (random.between(0, 100) / 100));
    const factors = Object.fromEntries(
      (Object.keys(most) as (keyof Factors)[]).map((name) => [
        name,
        random.between(0, 2) === 0 ? drawn(name) : none[name],
      ]),
    ) as unknown as Factors;
    add({ ...factors, spans: drawn('spans') });
  }
  return cases;
}
