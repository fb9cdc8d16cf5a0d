import { Logger } from '@nestjs/common';
import type { createRemoteJWKSet } from 'jose';
import { isObject } from '../../../base/common/json.js';
import { messageOf } from '../../../base/common/message-of.js';
import type { OidcIssuer } from '../../../base/config/oidc-setting.js';
import { type OutboundRules, portOfUrl } from '../../../base/outbound/addresses.js';
import { HttpClient, type HttpRequest } from '../../../base/outbound/http-client.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import type { Claims, VerifiedToken } from './token-checks.js';

/** Accepted signature algorithms: all asymmetric ones. */
const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** Limits of requests to the issuer. */
const limits = { connections: 8, timeoutMs: 5_000, maxResponseBytes: 262_144 };
const maxIntrospections = 32;
/** Pause before an issuer that did not answer is asked again. */
const retryPauseMs = 5_000;
/** Min age of the keys before they are read again for an unknown key, and age at which they are read again anyway. */
const [minKeysMs, maxKeysMs] = [30_000, 600_000];

type KeySet = ReturnType<typeof createRemoteJWKSet>;

/** The members of an issuer's metadata that this server reads. The OpenID client gets all of it. */
export interface Metadata {
  readonly jwks_uri?: unknown;
  readonly introspection_endpoint?: unknown;
  readonly authorization_endpoint?: unknown;
  readonly token_endpoint?: unknown;
  readonly authorization_response_iss_parameter_supported?: unknown;
}

/** An issuer of access tokens. Its metadata and keys are read at the first token, and stay in use if it does not answer later. */
export class TokenIssuer {
  private readonly logger = new Logger(TokenIssuer.name);
  private readonly clients = new Map<string, HttpClient>();
  private readonly keys = new Cached(() => this.loadKeys());
  private readonly knownMetadata = new Cached(() => this.loadMetadata());
  /** When the keys were read, in the time of `performance.now()`. */
  private keysReadAt = 0;
  /** Earliest time of the next read of the keys, in the time of `performance.now()`. */
  private nextReadAt = 0;
  /** Present if the keys could not be read the last time. */
  private keysFailure: Error | undefined;
  private introspections = 0;

  constructor(
    readonly settings: OidcIssuer,
    private readonly outbound: OutboundRules,
  ) {}

  /** Verifies a token's signature. @throws an error of jose if it is invalid; UpstreamFailure without the issuer's keys */
  async verify(token: string): Promise<VerifiedToken> {
    const { compactVerify, errors } = await import('jose');
    const keys = await this.keys.get();
    // The refresh of old keys runs in the background.
    if (performance.now() > this.keysReadAt + maxKeysMs) this.readKeys(keys).catch(() => undefined);
    const verify = () => compactVerify(token, keys, { algorithms });
    const { payload, protectedHeader } = await verify().catch(async (error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.readKeys(keys);
      return verify();
    });
    return { claims: JSON.parse(Buffer.from(payload).toString()) as Claims, typ: protectedHeader.typ };
  }

  /** Asks the issuer about a token (RFC 7662). @returns undefined if it does not know it @throws UpstreamFailure */
  async introspect(token: string): Promise<VerifiedToken | undefined> {
    const { introspection, issuer } = this.settings;
    if (!introspection) return undefined;
    if (this.introspections >= maxIntrospections)
      throw new UpstreamFailure('rate_limited', `${maxIntrospections} tokens wait already`);
    this.introspections++;
    try {
      const { introspection_endpoint: endpoint } = await this.metadata();
      const { clientId, clientSecret } = introspection;
      const secret = [clientId, clientSecret].map(encodeURIComponent).join(':');
      const answer = await this.ask(endpoint, {
        method: 'POST',
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: `Basic ${Buffer.from(secret).toString('base64')}`,
        },
      });
      if (!isObject(answer) || answer['active'] !== true || (answer['iss'] ?? issuer) !== issuer)
        return undefined;
      // Some issuers name no subject for a client that calls for itself.
      return { claims: { sub: answer['client_id'], ...answer } };
    } finally {
      this.introspections--;
    }
  }

  /** @throws UpstreamFailure */
  metadata(): Promise<Metadata> {
    return this.knownMetadata.get();
  }

  /** Asks the issuer's token endpoint. @throws UpstreamFailure */
  async requestTokens(form: Readonly<Record<string, string>>): Promise<unknown> {
    const { token_endpoint: endpoint } = await this.metadata();
    return this.ask(endpoint, {
      method: 'POST',
      body: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  }

  /** Sends a request to an address of the issuer. Only origins that the operator configured may be private. */
  async ask(address: unknown, request: Omit<HttpRequest, 'path'>): Promise<unknown> {
    const { issuer, jwksUri } = this.settings;
    const url = URL.parse(String(address));
    if (!url) throw new UpstreamFailure('invalid_answer', 'its metadata lacks an address');
    const { origin, hostname, pathname, search } = url;
    const configured = [issuer, ...(jwksUri === undefined ? [] : [jwksUri])];
    const isConfigured = configured.some((each) => new URL(each).origin === origin);
    const obstacle = (resolved: string | undefined): string | undefined =>
      isConfigured ? undefined : this.outbound.obstacle(hostname, portOfUrl(url), resolved);
    const client = this.clients.get(origin) ?? new HttpClient({ ...limits, origin, obstacle });
    this.clients.set(origin, client);
    return client.ask({ ...request, path: `${pathname}${search}` });
  }

  /**
   * Reloads the keys if the pause since the last read is over. While the issuer does not answer, one token waits for the
   * reload and the others fail at once with the last error.
   * @throws UpstreamFailure
   */
  private async readKeys(keys: KeySet): Promise<void> {
    const isTime = performance.now() >= this.nextReadAt;
    if (this.keysFailure && (keys.reloading || !isTime)) throw this.keysFailure;
    if (isTime) await keys.reload();
  }

  /** The first read of the keys. */
  private async loadKeys(): Promise<KeySet> {
    const { createRemoteJWKSet, customFetch } = await import('jose');
    const jwksUri = this.settings.jwksUri ?? (await this.metadata()).jwks_uri;
    // jose needs a URL, but the fetch below ignores it.
    const set = createRemoteJWKSet(new URL(this.settings.issuer), {
      [customFetch]: async () => Response.json(await this.keySet(jwksUri)),
      cooldownDuration: Infinity,
      cacheMaxAge: Infinity,
    });
    await set.reload();
    return set;
  }

  /** Reads the issuer's keys, and notes when, or the failure. */
  private async keySet(uri: unknown): Promise<unknown> {
    try {
      const headers = { accept: 'application/jwk-set+json, application/json' };
      const keySet = await this.ask(uri, { method: 'GET', headers });
      this.keysFailure = undefined;
      this.keysReadAt = performance.now();
      this.nextReadAt = this.keysReadAt + minKeysMs;
      return keySet;
    } catch (error) {
      this.logger.warn(`The keys of ${this.settings.issuer} cannot be read: ${messageOf(error)}`);
      this.keysFailure = error as Error;
      this.nextReadAt = performance.now() + retryPauseMs;
      throw error;
    }
  }

  /** Reads the metadata by OpenID Connect Discovery, or else by RFC 8414. */
  private async loadMetadata(): Promise<Metadata> {
    const { issuer } = this.settings;
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, '');
    const ask = (address: string): Promise<unknown> => this.ask(`${origin}${address}`, { method: 'GET' });
    const metadata = await ask(`${path}/.well-known/openid-configuration`).catch((error: unknown) => {
      if (!(error instanceof UpstreamFailure) || error.status !== 404) throw error;
      return ask(`/.well-known/oauth-authorization-server${path}`);
    });
    if (isObject(metadata) && metadata['issuer'] === issuer) return metadata;
    throw new UpstreamFailure('invalid_answer', 'its metadata names another issuer');
  }
}

/** Caches an answer for good, and a failure for a while. */
class Cached<T> {
  private answer: Promise<T> | undefined;
  /** In the time of `performance.now()`. */
  private expiresAt = 0;

  /** @param work asks for the answer */
  constructor(private readonly work: () => Promise<T>) {}

  get(): Promise<T> {
    if (this.answer && performance.now() < this.expiresAt) return this.answer;
    this.expiresAt = Infinity;
    this.answer = this.work();
    this.answer.catch(() => (this.expiresAt = performance.now() + retryPauseMs));
    return this.answer;
  }
}
