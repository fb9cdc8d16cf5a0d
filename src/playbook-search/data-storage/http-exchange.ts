import { parse } from 'secure-json-parse';
import { type Dispatcher, Pool } from 'undici';
import { retryAfterMs } from './retry-after.js';
import { sharedLookup } from './shared-lookup.js';
import { UpstreamFailure } from './upstream-failure.js';

export interface ExchangeSettings {
  /** The service's base URL; a path in it stays in front of ours. */
  readonly url: string;
  /** Sent as a bearer token, to this host only. */
  readonly token: string | undefined;
  readonly connections: number;
  /** For the whole of a try: connecting, headers and body. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  /** Below the base URL, query string included. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Beside those of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One question and its answer over HTTP, bounded in time and size. */
export class HttpExchange {
  private readonly pool: Pool;
  private readonly prefix: string;
  private readonly headers: Readonly<Record<string, string>>;

  constructor(private readonly settings: ExchangeSettings) {
    const { origin, pathname } = new URL(settings.url);
    const { timeoutMs, connections, token } = settings;
    // Our own timer covers a try as a whole; undici's would begin anew with each part of it.
    const timeouts = {
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: timeoutMs, lookup: sharedLookup() },
    };
    this.pool = new Pool(origin, { connections, ...timeouts });
    this.prefix = pathname.replace(/\/+$/, '');
    this.headers = {
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
  }

  /**
   * @param limitMs what is left of the time for the whole question
   * @returns the answer's JSON
   * @throws UpstreamFailure
   */
  async send(request: UpstreamRequest, limitMs: number): Promise<unknown> {
    const timeoutMs = Math.min(this.settings.timeoutMs, limitMs);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    try {
      return await this.exchange(request, late.signal);
    } catch (error) {
      if (late.signal.aborted) throw new UpstreamFailure('timeout', `no answer within ${timeoutMs} ms`);
      throw error instanceof UpstreamFailure ? error : new UpstreamFailure('unreachable', reasonOf(error));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Cuts off what is under way. */
  async close(): Promise<void> {
    await this.pool.destroy();
  }

  private async exchange(
    { method, path, body, headers }: UpstreamRequest,
    signal: AbortSignal,
  ): Promise<unknown> {
    const response = await this.pool.request({
      method,
      path: this.prefix + path,
      headers: {
        ...this.headers,
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    const failure = failureOf(response);
    if (failure) {
      drop(response);
      throw failure;
    }
    return this.read(response);
  }

  private async read(response: Dispatcher.ResponseData): Promise<unknown> {
    const { maxResponseBytes } = this.settings;
    const tooLarge = (): UpstreamFailure =>
      new UpstreamFailure('answer_too_large', `the answer is over ${maxResponseBytes} bytes`);
    if (Number(response.headers['content-length'] ?? 0) > maxResponseBytes) {
      drop(response);
      throw tooLarge();
    }
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response.body) {
      size += (chunk as Buffer).length;
      if (size > maxResponseBytes) throw tooLarge();
      chunks.push(chunk as Buffer);
    }
    try {
      return parse(Buffer.concat(chunks).toString('utf8'), undefined, safely);
    } catch {
      throw new UpstreamFailure('invalid_answer', 'the answer is no JSON');
    }
  }
}

const safely = { protoAction: 'remove', constructorAction: 'remove' } as const;

function failureOf({ statusCode, headers }: Dispatcher.ResponseData): UpstreamFailure | undefined {
  if (statusCode >= 200 && statusCode < 300) return undefined;
  const message = `it answered ${statusCode}`;
  const pauseMs = retryAfterMs(headers['retry-after'], Date.now());
  if (statusCode === 429) return new UpstreamFailure('rate_limited', message, pauseMs);
  if (statusCode >= 500) return new UpstreamFailure('server_error', message, pauseMs);
  return new UpstreamFailure(statusCode >= 400 ? 'rejected' : 'redirected', message);
}

/** A body that nobody reads would keep its connection; what it still says, errors included, is of no use. */
function drop({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => undefined);
  body.destroy();
}

/** Connection errors say most by their code; several addresses fail in one AggregateError without a message. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return [code, message].filter(Boolean).join(': ') || String(error);
}
