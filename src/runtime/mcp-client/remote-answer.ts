import { createParser } from 'eventsource-parser';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { isObject } from '../../base/common/json.js';
import { readAtMost } from '../../base/outbound/http-client.js';
import { belongsTo } from '../process-pool/conversation.js';
import { LineBudget } from '../process-pool/line-framer.js';
import { discoverMs } from './mcp-eras.js';

export type Redact = (text: string) => string;

/** An answer over HTTP whose body is decompressed as it is read. */
export interface Answer {
  readonly statusCode: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: Readable;
}

/** The JSON-RPC error that answers a request which its server refused. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

const internalError = -32603;
/** Advice for servers of the older transport. */
export const oldTransport =
  'It speaks the older HTTP+SSE transport, and Toolkeeper only Streamable HTTP: register its address for that, often /mcp';
/** Advice for servers that answer a POST with 405. */
export const postRefused =
  'It takes no POST there: it has another address, or speaks only the older HTTP+SSE transport';
/** Statuses with which servers of the older transport answer a POST. */
export const oldStatuses = [400, 404, 405];

/** A refusal with a message of this client. */
export const refusal = (message: string): Refusal => ({ code: internalError, message });

/** The refusal for a server that does not answer `server/discover`. */
export const discoveryTimedOut = refusal(`It did not answer "server/discover" within ${discoverMs} ms`);

export const isSuccess = ({ statusCode }: Answer): boolean => statusCode >= 200 && statusCode < 300;
export const isEvents = ({ headers }: Answer): boolean =>
  String(headers['content-type']).startsWith('text/event-stream');

const decoders = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

/** The answer with its body decompressed. A body in an unknown encoding stays as it is. */
export function decompressed({ statusCode, headers, body }: Dispatcher.ResponseData): Answer {
  const decoder = decoders.get(String(headers['content-encoding']).toLowerCase())?.();
  if (decoder) pipeline(body, decoder, () => undefined);
  const readable: Readable = decoder ?? body;
  return { statusCode, headers, body: readable.on('error', () => undefined) };
}

/** The position at which an event stream can be resumed, and the pause before that. */
export interface StreamPlace {
  lastEventId?: string;
  retryMs?: number;
}

/**
 * Calls back with the data of each event of a stream. Limits the lines that are read per second.
 * @param place updated with each event
 * @returns the fault of the stream, if any
 */
export async function readEvents(
  { body }: Answer,
  { maxBytes, linesPerSecond }: { readonly maxBytes: number; readonly linesPerSecond: number },
  onMessage: (text: string) => Promise<void>,
  signal: AbortSignal,
  place: StreamPlace = {},
): Promise<string | undefined> {
  const budget = new LineBudget(linesPerSecond);
  const decoder = new TextDecoder();
  const events: string[] = [];
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxBytes,
    onRetry: (ms) => (place.retryMs = ms),
    onEvent: ({ data, id }) => {
      if (id !== undefined) place.lastEventId = id;
      isTooLong ||= Buffer.byteLength(data) > maxBytes;
      events.push(data);
    },
    onError: ({ type }) => (isTooLong ||= type === 'max-buffer-size-exceeded'),
  });
  let isAfterReturn = false;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const text = decoder.decode(chunk, { stream: true });
    // The parser would hold back a carriage return at the end until more arrives, which may take long.
    const lines = (isAfterReturn ? text.replace(/^\n/, '') : text).replace(/\r\n?/g, '\n');
    isAfterReturn = text.endsWith('\r');
    parser.feed(lines);
    if (isTooLong) return `Its answer is over ${maxBytes} bytes`;
    for (const event of events.splice(0)) await onMessage(event);
    const overMs = budget.charge(lines.split('\n').length - 1);
    if (overMs > 0) await delay(overMs, undefined, { signal });
  }
  // Some servers end their last event without an empty line.
  parser.feed(`${decoder.decode()}\n\n`);
  for (const event of events) await onMessage(event);
  return undefined;
}

/** The messages in a text: one, those of a batch, or none. The member of a batch of one is not reformatted. */
export function messagesIn(text: string): string[] {
  const trimmed = text.trim();
  if (trimmed.startsWith('{')) return [trimmed];
  try {
    const batch: unknown = JSON.parse(trimmed);
    if (!Array.isArray(batch)) return [];
    return batch.length === 1 ? [trimmed.slice(1, -1).trim()] : batch.map((each) => JSON.stringify(each));
  } catch {
    return [];
  }
}

/** Characters within which a stream of the older transport names its endpoint. */
const probeChars = 4_096;

/** Whether a stream begins like that of the older transport, with an `endpoint` event. */
export async function isOldTransport({ body }: Answer): Promise<boolean> {
  let text = '';
  for await (const chunk of body) {
    text += String(chunk);
    if (/^event: ?endpoint\s*$/m.test(text)) return true;
    if (text.length > probeChars) return false;
  }
  return false;
}

/** Adds the id of the call to a server's question on its stream. Other messages stay unchanged. */
export function withCallId(text: string, id: string): string {
  if (!text.includes('"elicitation/create"')) return text;
  try {
    const message = JSON.parse(text) as { readonly method?: string; readonly params?: object };
    const params = { ...message.params, _meta: { [belongsTo]: id } };
    return message.method === 'elicitation/create' ? JSON.stringify({ ...message, params }) : text;
  } catch {
    return text;
  }
}

/** Max bytes of a refusal that are read. */
const maxRefusalBytes = 65_536;
/** Max characters of a header or URL in a message. */
const maxHeaderChars = 500;
/** Headers of a refusal that are passed on to the caller. */
const namedHeaders = ['retry-after', 'www-authenticate'];

/** Reads the reason of an error status. @returns also whether the reason is the session, which the server forgot */
export async function readRefusal(
  { statusCode, headers, body }: Answer,
  url: URL,
  redact: Redact,
): Promise<{ readonly error: Refusal; readonly namesSession: boolean }> {
  const text = (await readAtMost(body, maxRefusalBytes)).body.toString();
  const error = errorIn(text);
  const why = error?.message ?? beginningOf(text, redact);
  const parts = [`It answered ${statusCode}${why && `: ${why}`}`];
  const { location } = headers;
  const isRedirect = statusCode >= 300 && statusCode < 400 && location !== undefined;
  const target = isRedirect ? URL.parse(String(location), url.href) : null;
  if (target) parts.push(`it redirects to ${target.href.slice(0, maxHeaderChars)}: register that URL`);
  for (const name of namedHeaders)
    if (headers[name] !== undefined) parts.push(`${name}: ${String(headers[name]).slice(0, maxHeaderChars)}`);
  const message = parts.join('; ');
  return { error: { ...refusal(message), ...error, message }, namesSession: /session|initializ/i.test(text) };
}

/** Max characters of a page that are searched for tags, because unclosed tags are expensive. */
const pageChars = 4_096;
/** Max characters of a page in a message. */
const shownChars = 300;
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };

/** The beginning of a page or a text on one line, without tags and secrets. */
export function beginningOf(page: string, redact: Redact): string {
  const text = page.slice(0, pageChars);
  const isPage = /<(!doctype|html|head|body|title)\b/i.test(text);
  const words = isPage
    ? text
        .replace(/<(script|style)\b.*?(<\/\1\s*>|$)|<!--.*?(-->|$)|<[^>]*>?/gis, ' ')
        .replace(/&(#?\w{2,4});/g, (whole, name: string) => entities[name] ?? whole)
    : text;
  const line = redact(words.replace(/[\s\p{C}\ufffd]+/gu, ' ').trim());
  return line.length > shownChars ? `${line.slice(0, shownChars)} …` : line;
}

/** The JSON-RPC error in a text, whatever request it answers. */
export function errorIn(text: string): Refusal | undefined {
  try {
    const message: unknown = JSON.parse(text);
    const error = isObject(message) ? message['error'] : undefined;
    if (!isObject(error) || !Number.isInteger(error['code']) || typeof error['message'] !== 'string')
      return undefined;
    return { code: Number(error['code']), message: error['message'], data: error['data'] };
  } catch {
    return undefined;
  }
}

/** The revision of MCP in an answer to `initialize`; undefined if it has none. */
export function revisionIn(text: string): string | undefined {
  try {
    const { result } = JSON.parse(text) as { result?: { protocolVersion?: unknown } };
    return typeof result?.protocolVersion === 'string' ? result.protocolVersion : undefined;
  } catch {
    // The reader of the line reports what is wrong.
    return undefined;
  }
}
