import { TaskCancelledError, timeout, TimeoutStrategy } from 'cockatiel';
import { parse } from 'secure-json-parse';
import type { Dispatcher } from 'undici';
import { type ConnectRules, Destination } from './connector.js';
import { type FailureKind, UpstreamFailure } from './upstream-failure.js';

export interface HttpClientSettings extends Pick<ConnectRules, 'obstacle' | 'isDirect'> {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly connections: number;
  /** Limit for the whole of a request: connecting, headers and body. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** Whether an error quotes the start of the response. Off for services whose responses may contain secrets. */
  readonly quotesErrors?: boolean;
}

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** The path with its query string. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** JSON. */
  readonly body?: string | undefined;
  /** Ends the request, which then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the headers of a successful answer, by their lower-case names. */
  readonly onHeaders?: (headers: AnswerHeaders) => void;
}

/** Requests to one service, bounded in time and size. Redirects are failures: a request is meant for this host only. */
export class HttpClient {
  private readonly dispatcher: Dispatcher;

  constructor(private readonly settings: HttpClientSettings) {
    // Our own timer covers a request as a whole; undici's would begin anew with each part of it.
    this.dispatcher = new Destination(new URL(settings.origin), settings).dispatcher(settings.connections);
  }

  /**
   * @param limitMs for this request, where it has less time than the settings grant
   * @returns the answer's JSON
   * @throws UpstreamFailure
   */
  async ask(request: HttpRequest, limitMs?: number): Promise<unknown> {
    const text = await this.within(request, limitMs, async (signal) =>
      this.read(await this.answered(request, signal)),
    );
    try {
      return parse(text, undefined, safely);
    } catch {
      throw new UpstreamFailure('invalid_answer', 'the answer is no JSON');
    }
  }

  /**
   * The bytes of an answer as they come. Its time is bounded by the signal, its size by the reader.
   * @throws UpstreamFailure before the first byte
   */
  async stream(request: HttpRequest): Promise<AsyncIterable<Uint8Array>> {
    const { signal = null } = request;
    try {
      return (await this.answered(request, signal)).body;
    } catch (error) {
      signal?.throwIfAborted();
      throw asFailure(error);
    }
  }

  /** Sends a request whose answer is not read. @throws UpstreamFailure */
  tell(request: HttpRequest): Promise<void> {
    return this.within(request, undefined, async (signal) => drop(await this.answered(request, signal)));
  }

  /** Cuts off the requests that are under way. */
  async close(): Promise<void> {
    await this.dispatcher.destroy();
  }

  private async within<T>(
    { signal: wanted }: HttpRequest,
    limitMs: number | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const ms = Math.min(this.settings.timeoutMs, limitMs ?? Infinity);
    try {
      return await timeout(ms, TimeoutStrategy.Aggressive).execute(({ signal }) => work(signal), wanted);
    } catch (error) {
      wanted?.throwIfAborted();
      if (error instanceof TaskCancelledError)
        throw new UpstreamFailure('timeout', `no answer within ${ms} ms`);
      throw asFailure(error);
    }
  }

  private async answered(
    { onHeaders, ...request }: HttpRequest,
    signal: AbortSignal | null,
  ): Promise<Dispatcher.ResponseData> {
    const headers = {
      accept: 'application/json',
      ...(request.body !== undefined && { 'content-type': 'application/json' }),
      ...request.headers,
    };
    const response = await this.dispatcher.request({
      origin: this.settings.origin,
      ...request,
      headers,
      signal,
    });
    if (response.statusCode >= 200 && response.statusCode < 300) {
      onHeaders?.(response.headers);
      return response;
    }
    const why = this.settings.quotesErrors ? withoutToken(await beginningOf(response), headers) : '';
    drop(response);
    throw failureOf(response, why);
  }

  private async read(response: Dispatcher.ResponseData): Promise<string> {
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

const safely = { protoAction: 'remove', constructorAction: 'remove' } as const;

function failureOf({ statusCode, headers }: Dispatcher.ResponseData, why: string): UpstreamFailure {
  const message = `it answered ${statusCode}${why && `: ${why}`}`;
  const pauseMs = retryAfterMs(headers['retry-after'], Date.now());
  const failed = (kind: FailureKind, pause = 0): UpstreamFailure =>
    new UpstreamFailure(kind, message, pause, statusCode);
  if (statusCode === 408) return failed('timeout', pauseMs);
  if (statusCode === 429) return failed('rate_limited', pauseMs);
  if (statusCode >= 500) return failed('server_error', pauseMs);
  return failed(statusCode >= 400 ? 'rejected' : 'redirected');
}

const whyBytes = 2_048;
const whyChars = 300;

async function beginningOf({ body }: Dispatcher.ResponseData): Promise<string> {
  const beginning = await readAtMost(body, whyBytes);
  return beginning.body.toString().replaceAll(/\s+/g, ' ').trim().slice(0, whyChars);
}

/** A service may repeat the token that it was shown. A shorter one is a placeholder, and may stand in any word. */
function withoutToken(text: string, { authorization }: Readonly<Record<string, string>>): string {
  const token = authorization?.split(' ').at(-1) ?? '';
  return token.length < minTokenLength ? text : text.replaceAll(token, '[token]');
}
const minTokenLength = 8;

/**
 * RFC 9110's `Retry-After`: seconds, or a date.
 * @param now milliseconds since the epoch
 * @returns milliseconds to wait; 0 for a header that is absent, over or not understood
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // A date of HTTP begins with the day's name; Date.parse alone takes almost any number for one.
  const at = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}

/** An unread body would keep its connection; the rest of it, errors included, is of no use. */
function drop({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => undefined);
  body.destroy();
}

/** The code of a connection error is most informative. An AggregateError of several addresses has no message. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return [code, message].filter(Boolean).join(': ') || String(error);
}

const asFailure = (error: unknown): UpstreamFailure =>
  error instanceof UpstreamFailure ? error : new UpstreamFailure('unreachable', reasonOf(error));

const firstBytes = 16_384;

/**
 * The beginning of a stream, in one piece. What comes is copied together at once: a server may send each byte by itself,
 * and a list of them would take a hundred times as much.
 * @returns `whole`: it had no more than `maxBytes`; a stream that has more is ended
 */
export async function readAtMost(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<{ readonly body: Buffer; readonly whole: boolean }> {
  let kept = Buffer.alloc(firstBytes);
  let size = 0;
  for await (const bytes of stream) {
    if (size + bytes.length > maxBytes) {
      const rest = bytes.subarray(0, maxBytes - size);
      return { body: Buffer.concat([kept.subarray(0, size), rest]), whole: false };
    }
    if (size + bytes.length > kept.length)
      kept = Buffer.concat([kept], Math.max(2 * kept.length, size + bytes.length));
    kept.set(bytes, size);
    size += bytes.length;
  }
  return { body: kept.subarray(0, size), whole: true };
}
