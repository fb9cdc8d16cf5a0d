import { type LookupAddress, promises as dns } from 'node:dns';
import { STATUS_CODES } from 'node:http';
import { isIP } from 'node:net';
import { fetch, type Response } from 'undici';
import { nameOf, type OutboundRules, portOfUrl } from '../../../base/outbound/addresses.js';
import { Destination, DestinationRefused } from '../../../base/outbound/connector.js';
import { readAtMost } from '../../../base/outbound/http-client.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import { awayFailure, callerMistake } from '../failures.js';

/** A request to an address of the caller's choice. */
export interface OutboundRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Limit for everything: lookups, connections, redirects and the body. */
  readonly timeoutMs: number;
  /** Limit of the decompressed body, beyond which it is not read. */
  readonly maxBytes: number;
  readonly maxRedirects: number;
}

/** The answer to a request, after redirects. */
export interface OutboundAnswer {
  /** The URL that answered. */
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Response['headers'];
  readonly body: Buffer;
  /** false if the body was longer than `maxBytes`. */
  readonly whole: boolean;
}

/** A request was never sent, so that it can be repeated safely. */
export class NotSent extends ToolFailure {
  constructor(message: string) {
    super('upstream_unavailable', message);
  }
}

/** Timeout of each connection. */
const connectTimeoutMs = 10_000;
const maxUrlLength = 8_192;
const redirectStatuses = [301, 302, 303, 307, 308];

/** Sends requests to URLs of callers. The operator's rules apply to each host and redirect; this server is never reached. */
export class OutboundHttp {
  constructor(
    private readonly rules: OutboundRules,
    private readonly ownPort: () => number | undefined,
    /** Resolver for names without a rule. Not `dns.lookup`, whose slow lookups would block the threads for files. */
    private readonly resolver: Pick<dns.Resolver, 'resolve4' | 'resolve6'> = new dns.Resolver({
      timeout: 3_000,
      tries: 2,
    }),
  ) {}

  /** Sends a request and follows redirects. @throws ToolFailure with a sentence for the caller; the signal's reason */
  async send(request: OutboundRequest, signal: AbortSignal): Promise<OutboundAnswer> {
    const timeout = AbortSignal.timeout(request.timeoutMs);
    const end = AbortSignal.any([signal, timeout]);
    let url = this.checkedUrl(request.url);
    try {
      for (let hop = 0; hop <= request.maxRedirects; hop++) {
        const answer = await this.attempt(url, request, end);
        if (answer instanceof URL) url = this.checkedUrl(answer.href);
        else return answer;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.aborted)
        throw awayFailure(`${url.host} gave no whole answer within ${request.timeoutMs / 1_000} seconds`);
      throw error instanceof ToolFailure ? error : failureOf(url, error);
    }
    throw callerMistake(`${request.url} is redirected more than ${request.maxRedirects} times`);
  }

  /** Sends one request. @returns the answer, or the URL to which it redirects */
  private async attempt(
    url: URL,
    { method, headers, body, maxBytes, maxRedirects }: OutboundRequest,
    signal: AbortSignal,
  ): Promise<OutboundAnswer | URL> {
    const host = nameOf(url.hostname);
    const port = portOfUrl(url);
    const destination = new Destination(url, {
      timeoutMs: connectTimeoutMs,
      ownPort: this.ownPort,
      obstacle: (address) => this.obstacle(host, port, address),
      lookup: (name) =>
        this.rules.names(name, port) ? dns.lookup(name, { all: true }) : this.publicAddresses(name),
    });
    destination.check();
    const dispatcher = destination.dispatcher();
    try {
      const response = await fetch(url, {
        method,
        headers: { 'user-agent': 'Toolkeeper', ...headers },
        body: body ?? null,
        redirect: 'manual',
        signal,
        dispatcher,
      });
      const location = response.headers.get('location');
      if (maxRedirects > 0 && location !== null && redirectStatuses.includes(response.status)) {
        const next = URL.parse(location, url.href);
        if (!next) throw callerMistake(`${url.host} redirects to what is no URL`);
        return next;
      }
      const { status, statusText } = response;
      return {
        url: url.href,
        status,
        // Some proxies drop the text.
        statusText: statusText || (STATUS_CODES[status] ?? ''),
        headers: response.headers,
        ...(await readAtMost(response.body ?? [], maxBytes)),
      };
    } finally {
      void dispatcher.destroy();
    }
  }

  /** Parses a URL. @throws ToolFailure unless it is an http or https URL without credentials */
  private checkedUrl(text: string): URL {
    const url = text.length > maxUrlLength ? null : URL.parse(text);
    if (!url) throw callerMistake(`${text.slice(0, 200)} is no URL`);
    if (!['http:', 'https:'].includes(url.protocol))
      throw callerMistake(`${url.protocol.slice(0, 50)} is not supported: only http and https are`);
    if (url.username !== '' || url.password !== '')
      throw callerMistake('A URL with a user name or password in it is not fetched');
    return url;
  }

  /** Looks a name up at the name servers. @throws ToolFailure if that fails */
  private async publicAddresses(host: string): Promise<LookupAddress[]> {
    // Name servers do not know localhost, but the rules need its address.
    if (/^(.+\.)?localhost\.?$/.test(host)) return [{ address: '127.0.0.1', family: 4 }];
    const { resolver } = this;
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = [four, six].flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (addresses.length === 0 && four.status === 'rejected') {
      const { code = '' } = four.reason as NodeJS.ErrnoException;
      const isUnknown = ['ENOTFOUND', 'ENODATA', 'EBADNAME'].includes(code);
      throw isUnknown
        ? callerMistake(`There is no host ${host}${host.includes('.') ? '' : namesByRule}`)
        : new NotSent(`${host} cannot be looked up: ${code}`);
    }
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }

  /** Why an address may not be reached, for the caller; undefined if it may. */
  private obstacle(host: string, port: number, address: string | undefined): string | undefined {
    const obstacle = this.rules.obstacle(host, port, address);
    const advice = 'the operator can allow it (OUTBOUND_ALLOW)';
    return obstacle && `Tools may not connect to ${host} here: ${obstacle}; ${advice}`;
  }
}

/** Advice for a name without a domain. */
const namesByRule = '; the operator can allow names of this network by OUTBOUND_ALLOW';

/** Codes of failures before any byte of the request was sent. */
const unsentCodes = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** An error of undici. */
interface Reason extends NodeJS.ErrnoException {
  readonly cause?: Reason;
  readonly errors?: readonly NodeJS.ErrnoException[];
}

/** The failure for the caller. undici stores the reason in the cause, in the errors per address, or in the message. */
function failureOf({ host }: URL, error: unknown): ToolFailure {
  let reason = error as Reason;
  while (reason.cause) reason = reason.cause;
  if (reason instanceof ToolFailure) return reason;
  if (reason instanceof DestinationRefused) return callerMistake(reason.message);
  const { code = reason.errors?.[0]?.code, message } = reason;
  // The refusal of a proxy has its reason only in the message.
  const text = `${host} cannot be reached: ${code === 'UND_ERR_ABORTED' ? message : (code ?? message)}`;
  return unsentCodes.has(code ?? '') ? new NotSent(text) : awayFailure(text);
}
