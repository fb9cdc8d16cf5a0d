import { type Dispatcher, parseCookie } from 'undici';
import { manifest } from '../../base/common/project.js';
import { Destination } from '../../base/outbound/connector.js';
import { type Credential, TokenRequests } from './credential.js';
import { type Answer, decompressed, type Redact, revisionIn } from './remote-answer.js';

/** Address of an MCP server (Streamable HTTP), and the headers of every request to it. */
export interface RemoteAddress {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Removes the secrets in these headers. */
  readonly redact: Redact;
  /** Adds access tokens; absent if the headers suffice. */
  readonly credential?: Credential | undefined;
}

type Method = 'POST' | 'GET' | 'DELETE';
type Headers = Readonly<Record<string, string>>;

/** Timeout of the request that ends the session at the server. */
const endTimeoutMs = 1_000;
const sessionHeader = 'mcp-session-id';

/** Sends the HTTP requests of one session with a server, with the headers that it needs. */
export class RemoteSession {
  /** The id that the server assigned, if any. */
  id: string | undefined;
  /** Revision of MCP, known after the answer to `initialize`. */
  private revision: string | undefined;
  private readonly headers: Headers;
  private readonly agent: Dispatcher;
  private readonly cookies: SessionCookies;
  private readonly tokens: TokenRequests;

  constructor(
    private readonly address: RemoteAddress,
    limits: ConstructorParameters<typeof Destination>[1],
  ) {
    const headers = Object.entries({ 'user-agent': `toolkeeper/${manifest().version}`, ...address.headers });
    this.headers = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
    this.agent = new Destination(address.url, limits).dispatcher();
    this.cookies = new SessionCookies(address.url, this.headers['cookie']);
    this.tokens = new TokenRequests(address.credential);
  }

  /** Sends a request. @throws SignInNeeded if it needs a sign-in; other errors if there is no answer */
  request(method: Method, headers: Headers, signal: AbortSignal, body?: string): Promise<Answer> {
    return this.tokens.send((token) => this.send(method, { ...headers, ...token }, signal, body));
  }

  /** Notes the session's id and the revision in an answer to `initialize`. */
  note({ headers }: Answer, text: string): void {
    const id = headers[sessionHeader];
    if (typeof id === 'string') this.id ??= id;
    this.revision ??= revisionIn(text);
  }

  /** Redacts access tokens in a text of the server. */
  withoutTokens(text: string): string {
    return this.tokens.clean(text);
  }

  /** Ends the session at the server, and closes the connections. */
  async close(): Promise<void> {
    if (this.id !== undefined)
      await this.request('DELETE', {}, AbortSignal.timeout(endTimeoutMs)).catch(() => undefined);
    await this.agent.destroy();
  }

  private async send(method: Method, headers: Headers, signal: AbortSignal, body?: string): Promise<Answer> {
    const { url } = this.address;
    const cookie = this.cookies.header();
    const response = await this.agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      signal,
      headers: {
        ...this.headers,
        ...headers,
        ...(cookie !== undefined && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(this.id !== undefined && { [sessionHeader]: this.id }),
        ...(this.revision !== undefined && { 'mcp-protocol-version': this.revision }),
      },
      body: body ?? null,
    });
    this.cookies.store(response.headers['set-cookie']);
    return decompressed(response);
  }
}

/** Max characters of the pairs in a header. */
const maxChars = 8_192;

/** Cookies of one session with one URL, such as those for a load balancer's sticky sessions. */
export class SessionCookies {
  /** Pairs by name, oldest first. */
  private readonly pairs = new Map<string, string>();

  /** @param fixed the `Cookie` header of the registration, which is sent first */
  constructor(
    private readonly url: URL,
    private readonly fixed: string | undefined,
  ) {}

  /** Stores the cookies of an answer. @param headers its `Set-Cookie` headers */
  store(headers: string | string[] = []): void {
    for (const header of [headers].flat()) this.storeOne(header);
  }

  /** The header of the next request; undefined if there is nothing to send. */
  header(): string | undefined {
    return [this.fixed, ...this.pairs.values()].filter(Boolean).join('; ') || undefined;
  }

  private storeOne(header: string): void {
    const cookie = parseCookie(header);
    if (!cookie?.name || (cookie.secure && this.url.protocol !== 'https:')) return;
    const { name, value, maxAge, expires } = cookie;
    const isPast = maxAge === undefined ? Number(expires) <= Date.now() : maxAge === 0;
    // The parser ignores a negative Max-Age.
    const isExpired = isPast || /;\s*max-age\s*=\s*-\d/i.test(header);
    this.pairs.delete(name);
    if (!isExpired) this.pairs.set(name, `${name}=${value}`);
    for (const oldest of this.pairs.keys()) {
      if ([...this.pairs.values()].join('; ').length <= maxChars) break;
      this.pairs.delete(oldest);
    }
  }
}
