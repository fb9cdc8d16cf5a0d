import { createParser } from 'eventsource-parser';
import { EventEmitter, once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { isObject } from '../../base/common/json.js';
import { messageOf } from '../../base/common/message-of.js';
import { Destination } from '../../base/outbound/connector.js';
import { readAtMost } from '../../base/outbound/http-client.js';
import type { LaunchedProcess, Launcher, LaunchEvents } from '../process-pool/launcher.js';
import { LineBudget, LineFramer } from '../process-pool/line-framer.js';

/** Address of an MCP server (Streamable HTTP), and the headers of every request to it. */
interface RemoteAddress {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

export interface RemoteLimits {
  /** Maximum bytes of one message. */
  readonly maxBytes: number;
  /** The most lines a second of one stream of events: it is read no faster. */
  readonly linesPerSecond: number;
  /** This server's own port: what listens there on this host is not called. */
  readonly ownPort: () => number | undefined;
}

interface Message {
  readonly id?: string;
  readonly method?: string;
  readonly params?: { readonly requestId?: string };
}

type Response = Dispatcher.ResponseData;

/** Pause before reopening the stream of server-initiated messages. */
const listenPauseMs = 1_000;
const farewellMs = 1_000;
const sessionHeader = 'mcp-session-id';

/** Gives a server behind a URL the form of a process: its lines are posted, and what comes back are its lines. */
export const remoteLauncher =
  (address: RemoteAddress, limits: RemoteLimits): Launcher =>
  () =>
    new RemoteServer(address, limits);

/**
 * One session with a server behind a URL. A failed connection, a session that the server forgot or a failed ping ends it as
 * the death of a process does: the pool begins another one. A status that is no success is the answer to its request alone.
 */
class RemoteServer extends EventEmitter<LaunchEvents> implements LaunchedProcess {
  readonly pid = undefined;
  readonly stdout = new PassThrough();
  /** Called with the reason when the session ends. */
  readonly stderr = new PassThrough();
  readonly stdin = new Writable({
    decodeStrings: false,
    write: (lines: string, _encoding, done) => {
      for (const line of lines.split('\n')) if (line !== '') this.take(line);
      done();
    },
  });
  private readonly agent: Dispatcher;
  private readonly over = new AbortController();
  /** Requests without an answer, by id. */
  private readonly open = new Map<string, AbortController>();
  /** The notification on its way: what follows it must not overtake it. */
  private lastPosted: Promise<void> = Promise.resolve();
  private session: string | undefined;
  private revision: string | undefined;
  private listens = false;
  /** Requests in a row that were answered with 400. */
  private refusals = 0;

  constructor(
    private readonly address: RemoteAddress,
    private readonly limits: RemoteLimits,
  ) {
    super();
    this.agent = new Destination(address.url, limits).dispatcher();
    setImmediate(() => this.emit('spawn'));
  }

  kill(signal: NodeJS.Signals): void {
    this.end(null, signal);
  }

  private take(line: string): void {
    const message = JSON.parse(line) as Message;
    const { id, method, params } = message;
    if (method === 'notifications/cancelled') this.open.get(params?.requestId ?? '')?.abort();
    const isNotification = id === undefined;
    const posted = this.lastPosted.then(() => this.post(line, message));
    if (isNotification) this.lastPosted = posted;
  }

  /** Never rejects. */
  private async post(line: string, { id, method }: Message): Promise<void> {
    const given = new AbortController();
    const isRequest = id !== undefined && method !== undefined;
    if (isRequest) this.open.set(id, given);
    const signal = AbortSignal.any([this.over.signal, given.signal]);
    try {
      const response = await this.request(
        'POST',
        { accept: 'application/json, text/event-stream' },
        signal,
        line,
      );
      const wrong = isSuccess(response) ? undefined : await this.refusalIn(response);
      if (!isRequest) response.body.destroy();
      else if (wrong) await this.refused(wrong, id, method, signal);
      else await this.readAnswer(response, id, method, signal);
      if (method === 'notifications/initialized') void this.listen();
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    } finally {
      if (isRequest) this.open.delete(id);
    }
  }

  private async request(
    method: 'POST' | 'GET' | 'DELETE',
    headers: Record<string, string>,
    signal: AbortSignal,
    body?: string,
  ): Promise<Response> {
    const { url } = this.address;
    const response = await this.agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      signal,
      headers: {
        ...this.address.headers,
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(this.session !== undefined && { [sessionHeader]: this.session }),
        ...(this.revision !== undefined && { 'mcp-protocol-version': this.revision }),
      },
      body: body ?? null,
    });
    response.body.on('error', () => undefined);
    return response;
  }

  /** @throws Error if it was refused for the session: another one begins then */
  private async refusalIn(response: Response): Promise<Refusal> {
    const { statusCode } = response;
    const { error, namesSession } = await readRefusal(response, this.address.url);
    this.refusals = statusCode === 400 ? this.refusals + 1 : 0;
    const isLost =
      [404, 410].includes(statusCode) || (statusCode === 400 && (namesSession || this.refusals > 1));
    if (isLost && this.session !== undefined)
      throw new Error(`The server has forgotten the session (${statusCode})`);
    return error;
  }

  /** A session whose `ping` fails is of no use. */
  private async refused(error: Refusal, id: string, method: string, signal: AbortSignal): Promise<void> {
    if (isFailedPing(method, error)) throw new Error(`ping: ${error.message}`);
    await this.deliver(JSON.stringify({ jsonrpc: '2.0', id, error }), signal);
  }

  private async readAnswer(
    response: Response,
    id: string,
    method: string,
    signal: AbortSignal,
  ): Promise<void> {
    let isAnswered = false;
    this.refusals = 0;
    const answer = async (text: string): Promise<void> => {
      if (method === 'initialize') this.begin(response.headers[sessionHeader], text);
      const error = method === 'ping' ? errorIn(text) : undefined;
      isAnswered ||= error !== undefined || text.includes(JSON.stringify(id));
      if (error) return this.refused(error, id, method, signal);
      await this.deliver(text, signal);
    };
    const wrong = await this.read(response, answer, signal);
    if (!isAnswered)
      await this.refused(refusal(wrong ?? 'It ended its answer without one'), id, method, signal);
  }

  /** @returns what was wrong with it */
  private async read(
    response: Response,
    message: (text: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (isEvents(response)) return this.readEvents(response, message, signal);
    const { maxBytes } = this.limits;
    const { body, whole } = await readAtMost(response.body, maxBytes);
    if (!whole) return `Its answer is over ${maxBytes} bytes`;
    if (body.length > 0) await message(body.toString());
    return undefined;
  }

  private async readEvents(
    { body }: Response,
    message: (text: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { maxBytes, linesPerSecond } = this.limits;
    const budget = new LineBudget(linesPerSecond);
    let overMs = 0;
    const events: string[] = [];
    let isTooLong = false;
    const parser = createParser({
      maxBufferSize: maxBytes,
      onEvent: ({ data }) => {
        isTooLong ||= Buffer.byteLength(data) > maxBytes;
        events.push(data);
      },
      onError: ({ type }) => (isTooLong ||= type === 'max-buffer-size-exceeded'),
    });
    // The parser's own buffer counts characters and keeps each piece of a line by itself; to it a carriage return ends a line.
    const framer = new LineFramer(maxBytes, {
      line: (text) => {
        overMs = budget.charge(1);
        parser.feed(`${text.replaceAll('\r', '')}\n`);
        return !isTooLong;
      },
      overflow: () => (isTooLong = true),
    });
    for await (const chunk of body as AsyncIterable<Buffer>) {
      framer.push(chunk);
      if (isTooLong) return `Its answer is over ${maxBytes} bytes`;
      for (const event of events.splice(0)) await message(event);
      if (overMs > 0) await delay(overMs, undefined, { signal });
      overMs = 0;
    }
    return undefined;
  }

  /** Follows what the server sends outside of any answer; not every server does. */
  private async listen(): Promise<void> {
    if (this.listens) return;
    this.listens = true;
    const { signal } = this.over;
    try {
      for (;;) {
        const response = await this.request('GET', { accept: 'text/event-stream' }, signal);
        if (response.statusCode !== 200 || !isEvents(response)) return void response.body.destroy();
        const wrong = await this.readEvents(response, (text) => this.deliver(text, signal), signal);
        if (wrong !== undefined) throw new Error(wrong);
        await delay(listenPauseMs, undefined, { signal });
      }
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }

  private begin(session: string | string[] | undefined, text: string): void {
    if (typeof session === 'string') this.session ??= session;
    try {
      const { result } = JSON.parse(text) as { result?: { protocolVersion?: unknown } };
      if (typeof result?.protocolVersion === 'string') this.revision ??= result.protocolVersion;
    } catch {
      // The reader of the line reports it.
    }
  }

  /** No line ends within a JSON text but for white space. */
  private async deliver(text: string, signal: AbortSignal): Promise<void> {
    if (!this.stdout.write(`${text.replace(/[\r\n]+/g, ' ')}\n`))
      await once(this.stdout, 'drain', { signal });
  }

  private fail(error: unknown): void {
    const { cause } = error as { cause?: unknown };
    this.stderr.write(`${this.address.url.host}: ${messageOf(cause ?? error) || String(error)}\n`);
    this.end(1, null);
  }

  private end(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.over.signal.aborted) return;
    this.over.abort();
    void this.leave();
    setImmediate(() => this.emit('exit', code, signal));
  }

  private async leave(): Promise<void> {
    if (this.session !== undefined)
      await this.request('DELETE', {}, AbortSignal.timeout(farewellMs)).catch(() => undefined);
    await this.agent.destroy();
  }
}

const isSuccess = ({ statusCode }: Response): boolean => statusCode >= 200 && statusCode < 300;
const isEvents = ({ headers }: Response): boolean =>
  String(headers['content-type']).startsWith('text/event-stream');

/** The error of JSON-RPC by which a request is answered that its server refused. */
interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

const maxBytes = 65_536;
const maxChars = 500;
/** Headers of a refusal that are passed on to the caller. */
const namedHeaders = ['retry-after', 'www-authenticate'];
const internalError = -32603;
const methodNotFound = -32601;

const refusal = (message: string): Refusal => ({ code: internalError, message });

/** Whether a `ping` failed: a server need not know it. */
const isFailedPing = (method: string, { code }: Refusal): boolean =>
  method === 'ping' && code !== methodNotFound;

/** Reads why a server answered with a status that is no success. */
async function readRefusal(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  url: URL,
): Promise<{ readonly error: Refusal; readonly namesSession: boolean }> {
  const text = (await readAtMost(body, maxBytes)).body.toString();
  const error = errorIn(text);
  const { location } = headers;
  const next =
    statusCode >= 300 && statusCode < 400 && location !== undefined && URL.parse(String(location), url.href);
  const message = [
    `It answered ${statusCode}${error ? `: ${error.message}` : ''}`,
    ...(next ? [`it redirects to ${next.href.slice(0, maxChars)}: register that URL`] : []),
    ...namedHeaders.flatMap((name) =>
      headers[name] === undefined ? [] : [`${name}: ${String(headers[name]).slice(0, maxChars)}`],
    ),
  ].join('; ');
  return { error: { ...refusal(message), ...error, message }, namesSession: /session|initializ/i.test(text) };
}

/** The error of JSON-RPC in a text, whichever request it names. */
function errorIn(text: string): Refusal | undefined {
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
