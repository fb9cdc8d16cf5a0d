import { EventEmitter, once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import type { JsonObject } from '../../base/common/json.js';
import { messageOf } from '../../base/common/message-of.js';
import { readAtMost } from '../../base/outbound/http-client.js';
import type { LaunchedProcess, Launcher, LaunchEvents } from '../process-pool/launcher.js';
import {
  type Answer,
  beginningOf,
  errorIn,
  isEvents,
  isOldTransport,
  isSuccess,
  messagesIn,
  oldStatuses,
  oldTransport,
  postRefused,
  discoveryTimedOut,
  readRefusal,
  type Redact,
  refusal,
  type Refusal,
  withCallId,
  type StreamPlace,
} from './remote-answer.js';
import { belongsToLegacyEra, LegacyTwin } from './legacy-twin.js';
import { EventStreams } from './remote-streams.js';
import { discoverMs, type McpPeer, newPeer, unsupportedRevision, versionMember } from './mcp-eras.js';
import { requestHeaders } from './request-headers.js';
import { SignInNeeded, signInNeededAnswer } from './credential.js';
import { type RemoteAddress, RemoteSession } from './remote-session.js';

/** Limits of each session with a remote server. */
export interface RemoteLimits {
  /** Maximum bytes of one message. */
  readonly maxBytes: number;
  /** Max lines per second that are read from an event stream. */
  readonly linesPerSecond: number;
  /** This gateway's own port, which is never called. */
  readonly ownPort: () => number | undefined;
}

/** Members of a JSON-RPC message that decide how it is sent. */
interface Message {
  readonly id?: string;
  readonly method?: string;
  readonly params?: JsonObject & { readonly requestId?: string; readonly _meta?: JsonObject };
}

const methodNotFound = -32601;
/** Timeout of the request that looks for the older transport. */
const probeMs = 2_000;
/** HTTP statuses and JSON-RPC errors of a server that does not speak the modern era any more. */
const goneStatuses = [400, 404, 405, 410];
const goneErrors = [methodNotFound, -32603, -32000];

/** Presents a server behind a URL as a process: lines of its input are posted, answers are lines of its output. */
export const remoteLauncher =
  (address: RemoteAddress, limits: RemoteLimits, peer = newPeer('modern')): Launcher =>
  () =>
    new RemoteServer(address, limits, peer);

/**
 * One session with a server behind a URL. A failed connection, a session that the server forgot or a failed ping ends it
 * like the exit of a process, and the pool begins another one. An error status answers only its own request.
 */
class RemoteServer extends EventEmitter<LaunchEvents> implements LaunchedProcess {
  readonly pid = undefined;
  readonly stdout = new PassThrough();
  /** Receives the reason when the session ends. */
  readonly stderr = new PassThrough();
  readonly stdin = new Writable({
    decodeStrings: false,
    write: (lines: string, _encoding, done) => {
      for (const line of lines.split('\n')) if (line !== '') this.handleLine(line);
      done();
    },
  });
  private readonly ended = new AbortController();
  /** Requests without an answer, by id. */
  private readonly openRequests = new Map<string, AbortController>();
  /** The last notification's request. Later messages wait for it, so that none overtakes it. */
  private lastPosted: Promise<void> = Promise.resolve();
  private readonly session: RemoteSession;
  private readonly twin: LegacyTwin;
  /** Whether its last request was of the modern era. */
  private isModern = false;
  /** Whether its tools were asked for, so that the handshake is over. */
  private hasListedTools = false;
  private readonly streams: EventStreams;
  /** Requests in a row that were answered with 400. */
  private badRequests = 0;

  constructor(
    private readonly address: RemoteAddress,
    private readonly limits: RemoteLimits,
    private readonly peer: McpPeer,
  ) {
    super();
    this.session = new RemoteSession(address, limits);
    this.streams = new EventStreams(limits, (place, signal) => this.follow(place, signal));
    const modernSession = { stdout: this.stdout, signal: this.ended.signal, end: () => this.end(1, null) };
    const newLegacySession = (): RemoteServer => new RemoteServer(address, limits, newPeer('legacy'));
    this.twin = new LegacyTwin(peer, newLegacySession, modernSession);
    setImmediate(() => this.emit('spawn'));
  }

  /** The id that the server assigned to the session, if any. */
  get sessionId(): string | undefined {
    return this.session.id;
  }

  kill(signal: NodeJS.Signals): void {
    this.end(null, signal);
  }

  /** Handles one line of its input: posts a message, or passes it to the legacy twin. */
  private handleLine(line: string): void {
    const message = JSON.parse(line) as Message;
    const { id, method, params } = message;
    if (this.isModern && belongsToLegacyEra(method, params?._meta))
      return this.twin.write(line, (enveloped) => this.handleLine(enveloped));
    if (method === 'notifications/cancelled') {
      const { requestId = '' } = params ?? {};
      const request = this.openRequests.get(requestId);
      request?.abort();
      // In the modern era the end of the request cancels it. Other calls are the twin's.
      if (this.isModern) return request ? undefined : this.twin.cancel(requestId);
    }
    if (id !== undefined && method !== undefined)
      this.isModern = params?._meta?.[versionMember] !== undefined;
    if (method === 'subscriptions/listen') return this.subscribe(line, message);
    this.hasListedTools ||= method === 'tools/list';
    const posted = this.lastPosted.then(() => this.post(line, message));
    if (id === undefined) this.lastPosted = posted;
  }

  /** Posts a subscription, whose answer is a stream that stays open. */
  private subscribe(line: string, message: Message): void {
    const abort = new AbortController();
    this.openRequests.set(message.id ?? '', abort);
    const signal = AbortSignal.any([this.ended.signal, abort.signal]);
    const openStream = (): Promise<Answer> =>
      this.session.request('POST', this.headersOf(message), signal, line);
    void this.listen(openStream, signal);
  }

  /** Headers of a message besides those of its session. */
  private headersOf({ method, params = {} }: Message): Record<string, string> {
    const accept = { accept: 'application/json, text/event-stream' };
    const revision = params._meta?.[versionMember];
    if (method === undefined || typeof revision !== 'string') return accept;
    return { ...accept, ...requestHeaders(revision, method, params, this.peer.repeated) };
  }

  /** Posts a message and delivers its answer. Never rejects. */
  private async post(line: string, message: Message): Promise<void> {
    const { id, method } = message;
    const abort = new AbortController();
    const isRequest = id !== undefined && method !== undefined;
    if (isRequest) this.openRequests.set(id, abort);
    const isProbe = method === 'server/discover' && !this.hasListedTools;
    const signals = [this.ended.signal, abort.signal, ...(isProbe ? [AbortSignal.timeout(discoverMs)] : [])];
    const signal = AbortSignal.any(signals);
    try {
      const response = await this.session.request('POST', this.headersOf(message), signal, line);
      const error = isSuccess(response) ? undefined : await this.readErrorStatus(response, method);
      if (!isRequest) response.body.destroy();
      else if (error) await this.deliverError(error, id, method, signal);
      else await this.readAnswer(response, id, method, signal);
      if (method === 'notifications/initialized')
        void this.listen((place) => this.follow(place, this.ended.signal));
    } catch (error) {
      if (!signal.aborted && isRequest && error instanceof SignInNeeded)
        await this.deliver(signInNeededAnswer(id, error), signal).catch(() => undefined);
      else if (!signal.aborted) this.fail(error);
      else if (isProbe && !this.ended.signal.aborted)
        await this.deliverError(discoveryTimedOut, id ?? '', method, this.ended.signal);
    } finally {
      if (isRequest) this.openRequests.delete(id);
    }
  }

  /** Reads an error status. @throws Error if the session is the cause, so that another one begins */
  private async readErrorStatus(response: Answer, method: string | undefined): Promise<Refusal> {
    const { statusCode } = response;
    const { url, redact } = this.address;
    const clean: Redact = (text) => this.session.withoutTokens(redact(text));
    const { error, namesSession } = await readRefusal(response, url, clean);
    this.badRequests = statusCode === 400 ? this.badRequests + 1 : 0;
    const isLost =
      [404, 410].includes(statusCode) || (statusCode === 400 && (namesSession || this.badRequests > 1));
    if (isLost && this.sessionId !== undefined)
      throw new Error(`The server has forgotten the session (${statusCode})`);
    const isGone = this.isModern && goneStatuses.includes(statusCode) && goneErrors.includes(error.code);
    if (this.hasListedTools && (isGone || error.code === unsupportedRevision))
      throw new Error(`The server speaks another revision of MCP now: ${error.message}`);
    if (method !== 'initialize' || !oldStatuses.includes(statusCode)) return error;
    if (await this.isOfOldTransport()) return refusal(oldTransport);
    return statusCode === 405 ? { ...error, message: `${error.message}. ${postRefused}` } : error;
  }

  /** Whether the server speaks the older transport. */
  private async isOfOldTransport(): Promise<boolean> {
    const signal = AbortSignal.any([this.ended.signal, AbortSignal.timeout(probeMs)]);
    // The server's answer may be unreadable.
    return this.follow({}, signal)
      .then(isOldTransport)
      .catch(() => false);
  }

  /** Opens an event stream, after the last event of an earlier one. */
  private follow({ lastEventId }: StreamPlace, signal: AbortSignal): Promise<Answer> {
    const place = lastEventId && { 'last-event-id': lastEventId };
    return this.session.request('GET', { accept: 'text/event-stream', ...place }, signal);
  }

  /** Delivers an error answer. A failed health request ends the session, unless the server does not know `ping`. */
  private async deliverError(error: Refusal, id: string, method: string, signal: AbortSignal): Promise<void> {
    if (this.isHealth(method) && !(method === 'ping' && error.code === methodNotFound))
      throw new Error(`${method}: ${error.message}`);
    await this.deliver(JSON.stringify({ jsonrpc: '2.0', id, error }), signal);
  }

  /** Whether a method is that of a health request. */
  private isHealth(method: string): boolean {
    return method === 'ping' || (method === 'server/discover' && this.hasListedTools);
  }

  /** Delivers the messages of an answer, or an error if the answer to the request is not among them. */
  private async readAnswer(response: Answer, id: string, method: string, signal: AbortSignal): Promise<void> {
    let isAnswered = false;
    /** The last text that was not empty, for the error if none of them answers the request. */
    let lastText = '';
    this.badRequests = 0;
    const onMessages = async (text: string): Promise<void> => {
      lastText = text || lastText;
      for (const message of messagesIn(text)) {
        if (method === 'initialize') this.session.note(response, message);
        const error = this.isHealth(method) ? errorIn(message) : undefined;
        isAnswered ||= error !== undefined || message.includes(JSON.stringify(id));
        if (error) await this.deliverError(error, id, method, signal);
        else await this.deliver(withCallId(message, id), signal);
      }
    };
    const fault = await this.readMessages(response, onMessages, () => isAnswered, signal);
    if (isAnswered || (response.statusCode === 202 && this.streams.isListening)) return;
    const seen = beginningOf(lastText, this.address.redact) || 'an empty body';
    const unanswered = `It answered ${response.statusCode} to "${method}" without a message of JSON-RPC: ${seen}`;
    await this.deliverError(errorIn(lastText) ?? refusal(fault ?? unanswered), id, method, signal);
  }

  /** Reads the messages of an answer. @returns the fault of the answer, if any */
  private async readMessages(
    response: Answer,
    onMessages: (text: string) => Promise<void>,
    isOver: () => boolean,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (isEvents(response)) return this.streams.read(response, onMessages, isOver, signal);
    const { maxBytes } = this.limits;
    const { body, whole } = await readAtMost(response.body, maxBytes);
    if (!whole) return `Its answer is over ${maxBytes} bytes`;
    if (body.length > 0) await onMessages(body.toString());
    return undefined;
  }

  /** Delivers messages that the server sends outside of answers. */
  private async listen(
    open: (place: StreamPlace) => Promise<Answer>,
    signal = this.ended.signal,
  ): Promise<void> {
    try {
      await this.streams.listen(open, (text) => this.deliver(text, signal), signal);
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }

  /** Writes a message as one line: line breaks in JSON are only white space. */
  private async deliver(text: string, signal: AbortSignal): Promise<void> {
    const line = this.session.withoutTokens(text).replace(/[\r\n]+/g, ' ');
    if (!this.stdout.write(`${line}\n`)) await once(this.stdout, 'drain', { signal });
  }

  /** Ends the session, and writes the reason to stderr. */
  private fail(error: unknown): void {
    const { cause } = error as { cause?: unknown };
    const why = messageOf(cause ?? error) || String(error);
    this.stderr.write(this.session.withoutTokens(`${this.address.url.host}: ${why}\n`));
    this.end(1, null);
  }

  private end(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.ended.signal.aborted) return;
    this.ended.abort();
    void this.session.close();
    setImmediate(() => this.emit('exit', code, signal));
  }
}
