import { TaskCancelledError, timeout, TimeoutStrategy } from 'cockatiel';
import { parse } from 'secure-json-parse';
import type { Dispatcher } from 'undici';
import { type ConnectRules, Destination } from './connector.js';
import { type FailureKind, UpstreamFailure } from './upstream-failure.js';

/** The service that a client calls, and its limits. */
interface HttpClientSettings extends Pick<ConnectRules, 'obstacle' | 'isDirect'> {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly connections: number;
  /** Timeout of a whole request: connection, headers and body. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** Whether an error quotes the start of the response. Off for services whose responses may contain secrets. */
  readonly quotesErrors?: boolean;
}

/** An answer whose body may still be unread. */
type Answer = Dispatcher.ResponseData;

/** Headers of an answer, by their lower-case names. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** The path with its query string. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The body, as JSON text. */
  readonly body?: string | undefined;
  /** Ends the request, which then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the headers of a successful answer. */
  readonly onHeaders?: (headers: AnswerHeaders) => void;
}

/** Sends requests to one service, limited in time and size. Redirects are failures, because they may lead to another host. */
export class HttpClient {
  private readonly dispatcher: Dispatcher;

  constructor(private readonly settings: HttpClientSettings) {
    // `within` limits a request as a whole; undici's timeouts restart with each part of it.
    this.dispatcher = new Destination(new URL(settings.origin), settings).dispatcher(settings.connections);
  }

  /** Sends a request and parses the answer's JSON. @param limitMs shorter timeout of this request @throws UpstreamFailure */
  async ask(request: HttpRequest, limitMs?: number): Promise<unknown> {
    const text = await this.within(request, limitMs, async (signal) =>
      this.read(await this.respond(request, signal)),
    );
    try {
      return parse(text, undefined, withoutPrototypes);
    } catch {
      throw new UpstreamFailure('invalid_answer', 'the answer is no JSON');
    }
  }

  /** Streams an answer. The signal limits its time, the reader its size. @throws UpstreamFailure before the first byte */
  async stream(request: HttpRequest): Promise<AsyncIterable<Uint8Array>> {
    const { signal = null } = request;
    try {
      return (await this.respond(request, signal)).body;
    } catch (error) {
      signal?.throwIfAborted();
      throw asFailure(error);
    }
  }

  /** Sends a request whose answer is not read. @throws UpstreamFailure */
  send(request: HttpRequest): Promise<void> {
    return this.within(request, undefined, async (signal) => drop(await this.respond(request, signal)));
  }

  /** Aborts all running requests. */
  async close(): Promise<void> {
    await this.dispatcher.destroy();
  }

  /** Runs a request within its time limit. @throws UpstreamFailure, or the request's signal's reason */
  private async within<T>(
    { signal: ownSignal }: HttpRequest,
    limitMs: number | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const ms = Math.min(this.settings.timeoutMs, limitMs ?? Infinity);
    try {
      return await timeout(ms, TimeoutStrategy.Aggressive).execute(({ signal }) => work(signal), ownSignal);
    } catch (error) {
      ownSignal?.throwIfAborted();
      if (error instanceof TaskCancelledError)
        throw new UpstreamFailure('timeout', `no answer within ${ms} ms`);
      throw asFailure(error);
    }
  }

  /** The response to a request, before its body is read. @throws UpstreamFailure for a status other than 2xx */
  private async respond({ onHeaders, ...request }: HttpRequest, signal: AbortSignal | null): Promise<Answer> {
    const headers = {
      accept: 'application/json',
      ...(request.body !== undefined && { 'content-type': 'application/json' }),
      ...request.headers,
    };
    const { origin, quotesErrors } = this.settings;
    const response = await this.dispatcher.request({ origin, ...request, headers, signal });
    if (response.statusCode >= 200 && response.statusCode < 300) {
      onHeaders?.(response.headers);
      return response;
    }
    const why = quotesErrors ? withoutToken(await beginningOf(response), headers) : '';
    drop(response);
    throw failureOf(response, why);
  }

  private async read(response: Answer): Promise<string> {
    const { maxResponseBytes } = this.settings;
    const tooLarge = (): UpstreamFailure =>
      new UpstreamFailure('answer_too_large', `the answer is over ${maxResponseBytes} bytes`);
    if (Number(response.headers['content-length'] ?? 0) > maxResponseBytes) {
      drop(response);
      throw tooLarge();
    }
    const { body, whole } = await readAtMost(response.body, maxResponseBytes);
    if (!whole) throw tooLarge();
    return body.toString();
  }
}

/** Removes members that could change an object's prototype. */
const withoutPrototypes = { protoAction: 'remove', constructorAction: 'remove' } as const;

function failureOf({ statusCode, headers }: Answer, why: string): UpstreamFailure {
  const message = `it answered ${statusCode}${why && `: ${why}`}`;
  const pauseMs = retryAfterMs(headers['retry-after'], Date.now());
  const failure = (kind: FailureKind, pause = 0): UpstreamFailure =>
    new UpstreamFailure(kind, message, pause, statusCode);
  if (statusCode === 408) return failure('timeout', pauseMs);
  if (statusCode === 429) return failure('rate_limited', pauseMs);
  if (statusCode >= 500) return failure('server_error', pauseMs);
  return failure(statusCode >= 400 ? 'rejected' : 'redirected');
}

/** Max bytes of a response that are read for the quotation in an error, and its max characters. */
const [quotedBytes, quotedChars] = [2_048, 300];

async function beginningOf({ body }: Answer): Promise<string> {
  const beginning = await readAtMost(body, quotedBytes);
  return beginning.body.toString().replaceAll(/\s+/g, ' ').trim().slice(0, quotedChars);
}

/** Min length of a token that is redacted. A shorter one is a placeholder and could be part of any word. */
const minTokenLength = 8;

/** Redacts the request's token, which a service may repeat. */
function withoutToken(text: string, { authorization }: Readonly<Record<string, string>>): string {
  const token = authorization?.split(' ').at(-1) ?? '';
  return token.length < minTokenLength ? text : text.replaceAll(token, '[token]');
}

/**
 * Parses `Retry-After` (RFC 9110): seconds, or a date.
 * @param now milliseconds since the epoch
 * @returns milliseconds to wait; 0 for a header that is absent, past or invalid
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // An HTTP date begins with the day's name. Date.parse would also accept almost any number.
  const at = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}

/** Discards an unread body, which would keep its connection busy. */
function drop({ body }: Answer): void {
  body.on('error', () => undefined);
  body.destroy();
}

/** Code and message of a connection error. An AggregateError of several addresses has no message. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return [code, message].filter(Boolean).join(': ') || String(error);
}

const asFailure = (error: unknown): UpstreamFailure =>
  error instanceof UpstreamFailure ? error : new UpstreamFailure('unreachable', reasonOf(error));

/** Initial size of the buffer, which grows on demand. */
const initialBytes = 16_384;

/**
 * Reads the beginning of a stream into one buffer. Chunks are copied at once, because a list of single bytes would take a
 * hundred times the memory.
 * @returns `whole`: whether the stream had at most `maxBytes`; a longer one is ended
 */
export async function readAtMost(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<{ readonly body: Buffer; readonly whole: boolean }> {
  let buffer = Buffer.alloc(initialBytes);
  let size = 0;
  for await (const bytes of stream) {
    if (size + bytes.length > maxBytes) {
      const rest = bytes.subarray(0, maxBytes - size);
      return { body: Buffer.concat([buffer.subarray(0, size), rest]), whole: false };
    }
    if (size + bytes.length > buffer.length)
      buffer = Buffer.concat([buffer], Math.max(2 * buffer.length, size + bytes.length));
    buffer.set(bytes, size);
    size += bytes.length;
  }
  return { body: buffer.subarray(0, size), whole: true };
}
