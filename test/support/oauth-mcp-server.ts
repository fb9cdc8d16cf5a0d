import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WebSite } from './web-site.js';

interface Message {
  readonly id?: string;
  readonly method: string;
  readonly params?: { readonly name?: string };
}
interface Family {
  readonly person: string;
  readonly scope: string;
  refresh: string;
  ended: boolean;
}
interface Code {
  readonly person: string;
  readonly query: URLSearchParams;
}

const token = (): string => randomBytes(16).toString('hex');

/**
 * An MCP server that wants an account of each caller, and its authorization server: registration, PKCE, one-use codes,
 * refresh tokens that rotate; one that comes twice ends its account. Tools: whoami, echo_token, admin (needs scope admin).
 */
export class OAuthMcpServer {
  /** The person at the browser that signs in next. */
  person = 'alice';
  lifetimeS = 3_600;
  refreshes = 0;
  /** When the newest access token ends. */
  lastExpiry = Infinity;
  /** Accounts that ended because a refresh token came twice. */
  lost = 0;
  /** Members that replace those of the authorization server's metadata. */
  metadata: Record<string, unknown> = {};
  /** In place of the issuer in redirects. */
  wrongIss: string | undefined;
  /** Path of the metadata that its challenge names. */
  metadataPath = '/.well-known/oauth-protected-resource/mcp';
  /** Scope without which it lists no tools. */
  listScope: string | undefined;
  /** Error that an exchange gets; `same`: the token that it brings. */
  exchangeMode: string | undefined;
  /** Forms of exchanges, with their client. */
  readonly exchanged: Readonly<Record<string, string>>[] = [];
  readonly seen: string[] = [];
  /** All access and refresh tokens. */
  readonly issued: string[] = [];
  /** The person of each access token. */
  readonly holders = new Map<string, string>();
  /** Whether tokens are issued for no resource, too. */
  asksForNoResource = false;
  private readonly codes = new Map<string, Code>();
  private readonly access = new Map<string, { family: Family; until: number }>();
  private readonly families = new Map<string, Family>();
  private site!: WebSite;

  static async start(): Promise<OAuthMcpServer> {
    const server = new OAuthMcpServer();
    server.site = await WebSite.start((request, response, body) =>
      server.serve(request, response, String(body)),
    );
    return server;
  }

  get url(): string {
    return `${this.site.url}/mcp`;
  }

  stop(): Promise<void> {
    return this.site.stop();
  }

  /** Ends all accounts, as their persons may do there. */
  revoke(): void {
    for (const family of this.families.values()) family.ended = true;
  }

  /** Access tokens are refused from now on; refresh tokens are not. */
  expire(): void {
    this.access.clear();
  }

  private serve(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { pathname, searchParams } = new URL(request.url ?? '', this.site.url);
    const json = (status: number, value: object, headers = {}): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(value));
    const { url: issuer } = this.site;
    this.seen.push(
      `${request.method} ${pathname} ${request.headers.authorization ?? 'without a token'} ${/"method":"[^"]*/.exec(body)?.[0]}`,
    );
    if (pathname === this.metadataPath)
      return json(200, { resource: this.url, authorization_servers: [issuer] });
    if (pathname === '/.well-known/oauth-authorization-server')
      return json(200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        ...this.metadata,
      });
    if (pathname === '/register') return json(201, { ...(JSON.parse(body) as object), client_id: token() });
    if (pathname === '/authorize') return this.authorize(searchParams, response);
    if (pathname === '/token') return this.issue(new URLSearchParams(body), json, request);
    if (pathname === '/mcp') return this.mcp(request, body, json, response);
    json(404, {});
  }

  private authorize(query: URLSearchParams, response: ServerResponse): void {
    const code = token();
    this.codes.set(code, { person: this.person, query });
    const to = new URL(query.get('redirect_uri') ?? '');
    to.searchParams.set('code', code);
    to.searchParams.set('state', query.get('state') ?? '');
    to.searchParams.set('iss', this.wrongIss ?? this.site.url);
    response.writeHead(302, { location: to.href }).end();
  }

  /** Takes the access token of any issuer in exchange. */
  private exchange(form: URLSearchParams, json: (status: number, value: object) => void, client = ''): void {
    this.exchanged.push({
      ...Object.fromEntries(form),
      client: Buffer.from(client.slice('Basic '.length), 'base64').toString(),
    });
    const subject = form.get('subject_token') ?? '';
    if (this.exchangeMode === 'same') return json(200, { access_token: subject, token_type: 'Bearer' });
    if (this.exchangeMode)
      return json(this.exchangeMode === 'server_error' ? 500 : 400, {
        error: this.exchangeMode,
        error_description: `no ${subject}`,
      });
    const { sub } = JSON.parse(Buffer.from(subject.split('.')[1] ?? '', 'base64url').toString()) as {
      sub: string;
    };
    this.grant({ person: sub, scope: form.get('scope') ?? 'read', refresh: '', ended: false }, json);
  }

  private issue(
    form: URLSearchParams,
    json: (status: number, value: object) => void,
    { headers }: IncomingMessage,
  ): void {
    if (form.get('grant_type')?.endsWith('token-exchange'))
      return this.exchange(form, json, headers.authorization);
    const refuse = (): void => json(400, { error: 'invalid_grant', error_description: 'no' });
    if (form.get('grant_type') === 'client_credentials')
      return this.grant({ person: 'the gateway', scope: 'read', refresh: '', ended: false }, json);
    if (form.get('grant_type') === 'refresh_token') {
      const given = form.get('refresh_token') ?? '';
      const family = this.families.get(given);
      if (!family || family.ended) return refuse();
      if (family.refresh !== given) {
        family.ended = true;
        this.lost += 1;
        return refuse();
      }
      this.refreshes += 1;
      return this.grant(family, json);
    }
    const given = this.codes.get(form.get('code') ?? '');
    this.codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const { query } = given ?? {};
    const isRight =
      query?.get('code_challenge') === challenge &&
      query.get('redirect_uri') === form.get('redirect_uri') &&
      query.get('resource') === form.get('resource') &&
      query.get('resource') === (this.asksForNoResource ? null : this.url);
    if (!given || !isRight) return refuse();
    this.grant({ person: given.person, scope: query.get('scope') ?? '', refresh: '', ended: false }, json);
  }

  private grant(family: Family, json: (status: number, value: object) => void): void {
    const [access, refresh] = [token(), token()];
    this.issued.push(access, refresh);
    this.holders.set(access, family.person);
    family.refresh = refresh;
    this.families.set(refresh, family);
    this.lastExpiry = Date.now() + 1_000 * this.lifetimeS;
    this.access.set(access, { family, until: this.lastExpiry });
    json(200, {
      access_token: access,
      refresh_token: refresh,
      token_type: 'Bearer',
      expires_in: this.lifetimeS,
      scope: family.scope,
    });
  }

  private mcp(
    request: IncomingMessage,
    body: string,
    json: (status: number, value: object, headers?: object) => void,
    response: ServerResponse,
  ): void {
    const shown = request.headers.authorization?.slice(7) ?? '';
    const { family, until } = this.access.get(shown) ?? { until: 0 };
    const metadata = `resource_metadata="${this.site.url}${this.metadataPath}"`;
    const { id, method, params } = JSON.parse(body || '{}') as Partial<Message>;
    const result = (value: object): void => json(200, { jsonrpc: '2.0', id, result: value });
    // As some servers do, it answers this without a token.
    if (method === 'initialize')
      return result({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'oauth' },
      });
    if (!family || family.ended || until < Date.now())
      return json(401, {}, { 'www-authenticate': `Bearer ${metadata}, scope="read"` });
    if (request.method !== 'POST') return json(405, {});
    if (id === undefined) return void response.writeHead(202).end();
    const name = params?.name;
    const needed = method === 'tools/list' ? this.listScope : name === 'admin' ? 'admin' : undefined;
    if (needed && !family.scope.split(' ').includes(needed))
      return json(
        403,
        {},
        { 'www-authenticate': `Bearer error="insufficient_scope", scope="${needed}", ${metadata}` },
      );
    if (method === 'tools/list')
      return result({
        tools: ['whoami', 'echo_token', 'admin'].map((each) => ({
          name: each,
          inputSchema: { type: 'object' },
        })),
      });
    if (method === 'tools/call')
      return result({
        content: [{ type: 'text', text: name === 'echo_token' ? `I saw ${shown}` : family.person }],
      });
    json(200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } });
  }
}
