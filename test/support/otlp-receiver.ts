import type { IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { buffersIn, type Fields, fieldsOf, messagesIn, numberIn, textIn } from './protobuf.js';
import { until } from './wait.js';
import { WebSite } from './web-site.js';

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: none. */
  readonly parentId: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** What it answers from now on; `hang`: nothing. */
  behave(status: number | 'hang'): void;
  /** Resolves with the one span of that name. */
  span(name: string): Promise<ReceivedSpan>;
  clear(): void;
  close(): Promise<void>;
}

/** A receiver of traces over HTTP, as a collector is one: takes protobuf, plain or gzipped, on /v1/traces. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let behaviour: number | 'hang' = 200;
  const site = await WebSite.start((request, response, body) => {
    if (behaviour === 'hang') return;
    const status = request.url === '/v1/traces' ? behaviour : 404;
    if (status === 200) {
      headers.push(request.headers);
      spans.push(...spansIn(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
    }
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
  });
  return {
    url: site.url,
    spans,
    headers,
    behave: (next) => (behaviour = next),
    span: async (name) => {
      await until(() => spans.some((span) => span.name === name), { what: `a span ${name}` });
      const found = spans.filter((span) => span.name === name);
      if (!found[0] || found.length > 1) throw new Error(`${found.length} spans are named ${name}`);
      return found[0];
    },
    clear: () => {
      spans.length = 0;
      headers.length = 0;
    },
    close: () => site.stop(),
  };
}

/** One line a span, children below and to the right of their parent, in the order of their starts. */
export function treeOf(spans: readonly ReceivedSpan[], parentId = '', indent = ''): string[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const isChild = (span: ReceivedSpan): boolean =>
    parentId === '' ? !known.has(span.parentId) : span.parentId === parentId;
  return spans
    .filter(isChild)
    .sort((a, b) => Number(a.startNs - b.startNs))
    .flatMap((span) => [`${indent}${span.name}`, ...treeOf(spans, span.spanId, `${indent}  `)]);
}

/** Field numbers of opentelemetry/proto/collector/trace/v1 and opentelemetry/proto/trace/v1. */
function spansIn(body: Buffer): ReceivedSpan[] {
  return messagesIn(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const [resource] = messagesIn(resourceSpans, 1);
    const facts = resource ? attributesIn(resource, 1) : {};
    return messagesIn(resourceSpans, 2).flatMap((scopeSpans) =>
      messagesIn(scopeSpans, 2).map((span) => spanOf(span, facts)),
    );
  });
}

function spanOf(span: Fields, resource: Record<string, unknown>): ReceivedSpan {
  const id = (number: number): string => buffersIn(span, number)[0]?.toString('hex') ?? '';
  const [status] = messagesIn(span, 15);
  return {
    name: textIn(span, 5),
    traceId: id(1),
    spanId: id(2),
    parentId: id(4),
    kind: Number(numberIn(span, 6)),
    startNs: numberIn(span, 7),
    endNs: numberIn(span, 8),
    failed: status !== undefined && numberIn(status, 3) === 2n,
    attributes: attributesIn(span, 9),
    resource,
  };
}

function attributesIn(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messagesIn(fields, number).map((pair) => {
      const [value] = messagesIn(pair, 2);
      return [textIn(pair, 1), value && valueOf(value)];
    }),
  );
}

/** AnyValue: of what we send, text, booleans and whole numbers. */
function valueOf(value: Fields): unknown {
  if (value.has(1)) return textIn(value, 1);
  if (value.has(2)) return numberIn(value, 2) === 1n;
  return Number(numberIn(value, 3));
}
