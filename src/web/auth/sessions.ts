import { Inject, Injectable } from '@nestjs/common';
import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { AdminKey, KnownKeys } from './known-keys.js';
import { hashOf, KnownSessions, type Session } from './known-sessions.js';

/** Name and SameSite of a cookie. */
export interface CookieKind {
  readonly name: string;
  readonly sameSite: 'Strict' | 'Lax';
}

const sessionCookie: CookieKind = { name: 'toolkeeper_session', sameSite: 'Strict' };
/** Prefix of cookies over TLS. Browsers accept such a cookie only from the same origin. */
const securePrefix = '__Host-';
/** Max cookies of a request that are looked at. */
const maxCookies = 8;
/** The header that carries the CSRF token. */
export const sessionHeader = 'x-toolkeeper-session';

/** The cookie and the CSRF token of a new session. */
export interface NewSession {
  readonly cookie: string;
  readonly csrfToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Browser sessions. A session by a key is stateless: the signed cookie contains the key's id and the expiry, replicas with the
 * same operator's key accept it, and it has the key's rights while the key is valid. A session that began at an OpenID
 * provider is stored, and its cookie is a random secret.
 */
@Injectable()
export class Sessions {
  /** The key that signs cookies; made on first use. */
  private secret: Buffer | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly adminKey: AdminKey,
    private readonly keys: KnownKeys,
    private readonly known: KnownSessions,
  ) {}

  /** Begins a session by a key; undefined if no API key is required. */
  begin(keyId: string, now = Date.now()): NewSession | undefined {
    const csrfToken = randomBytes(32).toString('base64url');
    const expiresAt = now + this.config.auth.sessionMs;
    const payload = `${keyId}.${expiresAt}.${hashOf(csrfToken)}`;
    const signature = this.sign(payload);
    return signature && { cookie: `${payload}.${signature.toString('base64url')}`, csrfToken, expiresAt };
  }

  /**
   * The session of a request's cookie. Servers on other ports of this host get the cookie, too, so without a CSRF token it
   * may only read.
   * @returns undefined for an invalid or expired cookie, which may be another server's
   */
  find({ cookie }: Pick<IncomingHttpHeaders, 'cookie'>): Session | undefined {
    const sessions = cookiesIn(cookie).map((value) => this.sessionIn(value));
    return sessions.find((session) => session !== undefined);
  }

  /** The session of a request's cookie, if the request also has its CSRF token in `x-toolkeeper-session`. */
  findWithToken(headers: IncomingHttpHeaders): Session | undefined {
    const token = headers[sessionHeader];
    if (typeof token !== 'string') return undefined;
    const tokenHash = hashOf(token);
    const sessions = cookiesIn(headers.cookie).map((value) => this.sessionIn(value));
    return sessions.find((session) => session?.tokenHash === tokenHash);
  }

  /** The session of a cookie's value; undefined if it is invalid or expired. */
  private sessionIn(value: string): Session | undefined {
    const parts = value.split('.');
    // The cookie of a stored session is one random secret, that of a session by a key has four parts.
    if (parts.length === 1) return this.known.find(value);
    if (parts.length !== 4) return undefined;
    const [keyId = '', expiry = '', tokenHash = '', signature = ''] = parts;
    const expected = this.sign(`${keyId}.${expiry}.${tokenHash}`);
    const given = Buffer.from(signature, 'base64url');
    if (given.length !== expected?.length || !timingSafeEqual(given, expected)) return undefined;
    const expiresAt = Number(expiry);
    const principal = expiresAt > Date.now() ? this.keys.withId(keyId) : undefined;
    return principal && { principal, expiresAt, tokenHash };
  }

  /** The signature of a cookie's payload; undefined if no API key is required. */
  private sign(payload: string): Buffer | undefined {
    const { hash: key } = this.adminKey;
    if (!key) return undefined;
    // Slow on purpose and done once, so that the operator's passphrase cannot be guessed from a cookie.
    this.secret ??= scryptSync(key, 'toolkeeper session', 32);
    return createHmac('sha256', this.secret).update(payload).digest();
  }
}

/**
 * The header `Set-Cookie` that sets a cookie until its end, in milliseconds since the epoch; without a cookie it deletes the
 * browser's. One that is set over `https` is sent over TLS only.
 */
export function setCookieHeader(
  cookie: { readonly value: string; readonly endsAt: number } | undefined,
  protocol: string,
  { name, sameSite } = sessionCookie,
): string {
  const { value, endsAt } = cookie ?? { value: '', endsAt: 0 };
  const age = Math.max(0, Math.floor((endsAt - Date.now()) / 1_000));
  const [prefix, secure] = protocol === 'https' ? [securePrefix, '; Secure'] : ['', ''];
  return `${prefix}${name}=${value}; Path=/; Max-Age=${age}; HttpOnly; SameSite=${sameSite}${secure}`;
}

/**
 * The values of this server's cookies, the last ones first. Pages on other ports of the host can set a cookie for a longer
 * path, which browsers send first, so only the last ones count.
 */
export function cookiesIn(header = '', cookieName = sessionCookie.name): string[] {
  const named = (name: string): string[] =>
    header.split(';').flatMap((pair) => {
      const [key, value = ''] = pair.trim().split('=', 2);
      return key === name ? [value] : [];
    });
  const secure = named(`${securePrefix}${cookieName}`);
  return (secure.length > 0 ? secure : named(cookieName)).slice(-maxCookies).reverse();
}

/** Secrets of links that sign a browser in as the operator, once and for a short time. Only this server's memory has their hashes. */
@Injectable()
export class SignInLinks {
  /** End of each link, in milliseconds since the epoch, by the hash of its secret. */
  private readonly endings = new Map<string, number>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly adminKey: AdminKey,
  ) {}

  /** Makes a secret, if this server generated its own key: readers of its output can read that key, too. */
  make(now = Date.now()): string | undefined {
    if (this.adminKey.file === undefined) return undefined;
    const secret = randomBytes(32).toString('base64url');
    this.endings.set(hashOf(secret), now + this.config.auth.signInLinkMs);
    return secret;
  }

  /** Uses up a link. @returns whether its secret was valid: not used before, and not expired */
  take(secret: string, now = Date.now()): boolean {
    const hash = hashOf(secret);
    const endsAt = this.endings.get(hash) ?? 0;
    this.endings.delete(hash);
    return endsAt > now;
  }
}
