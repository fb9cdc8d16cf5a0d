import { Inject, Injectable } from '@nestjs/common';
import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { AdminKey, KnownKeys } from './known-keys.js';
import { hashOf, KnownSessions, type Session } from './known-sessions.js';

const sessionCookie = 'toolkeeper_session';
/** Over TLS: a browser takes a cookie with this prefix from this very origin alone. */
const securePrefix = '__Host-';
const maxCookies = 8;
/** The header that carries the CSRF token. */
export const sessionHeader = 'x-toolkeeper-session';

/** The cookie and the CSRF token of a new session, each for its own place in the browser. */
export interface NewSession {
  readonly cookie: string;
  readonly csrfToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Browser sessions. One by a key is stateless: the signed cookie contains the key's id and the expiry, replicas with the
 * same operator's key accept it, and it has the rights of its key, for as long as the key is valid. One that began at an
 * OpenID provider is stored, and its cookie is a random secret.
 */
@Injectable()
export class Sessions {
  private secret: Buffer | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly adminKey: AdminKey,
    private readonly keys: KnownKeys,
    private readonly known: KnownSessions,
  ) {}

  /** @returns undefined if no API key is required */
  begin(keyId: string, now = Date.now()): NewSession | undefined {
    const csrfToken = randomBytes(32).toString('base64url');
    const expiresAt = now + this.config.auth.sessionMs;
    const payload = `${keyId}.${expiresAt}.${hashOf(csrfToken)}`;
    const signature = this.sign(payload);
    return signature && { cookie: `${payload}.${signature.toString('base64url')}`, csrfToken, expiresAt };
  }

  /**
   * The session of a request's cookie. Pages and listeners on other ports of this host are sent the cookie, too: by
   * itself it may read.
   * @returns undefined for a cookie that opens nothing (any more): it may be another server's
   */
  find({ cookie }: Pick<IncomingHttpHeaders, 'cookie'>): Session | undefined {
    return cookiesIn(cookie)
      .map((value) => this.opened(value))
      .find((session) => session !== undefined);
  }

  private opened(value: string): Session | undefined {
    const parts = value.split('.');
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

  /** The session of a request that shows the cookie and, in `x-toolkeeper-session`, the CSRF token. */
  findWhole(headers: IncomingHttpHeaders): Session | undefined {
    const token = headers[sessionHeader];
    if (typeof token !== 'string') return undefined;
    const tokenHash = hashOf(token);
    const sessions = cookiesIn(headers.cookie).map((value) => this.opened(value));
    return sessions.find((session) => session?.tokenHash === tokenHash);
  }

  private sign(payload: string): Buffer | undefined {
    const { hash: key } = this.adminKey;
    if (!key) return undefined;
    // Slow on purpose and done once, so that the holder of a cookie cannot guess the operator's passphrase from it.
    this.secret ??= scryptSync(key, 'toolkeeper session', 32);
    return createHmac('sha256', this.secret).update(payload).digest();
  }
}

/**
 * The header that brings a cookie into a browser, or takes it out; by default that of the session.
 * @param value undefined: none
 * @param endsAt milliseconds since the epoch; a moment that is over takes it out
 * @param secure the browser sends it over TLS alone
 */
export function setCookie(
  value: string | undefined,
  endsAt: number,
  secure: boolean,
  [name, sameSite] = [sessionCookie, 'Strict'],
): string {
  const age = Math.max(0, Math.floor((endsAt - Date.now()) / 1_000));
  const prefix = secure ? securePrefix : '';
  return `${prefix}${name}=${value ?? ''}; Path=/; Max-Age=${age}; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`;
}

/**
 * The values of this server's cookies. Pages on other ports of the host can set one for a longer path, which browsers
 * send first: the last ones are looked at first, and alone.
 */
export function cookiesIn(header = '', cookieName = sessionCookie): string[] {
  const named = (name: string): string[] =>
    header.split(';').flatMap((pair) => {
      const [key, value = ''] = pair.trim().split('=', 2);
      return key === name ? [value] : [];
    });
  const secure = named(`${securePrefix}${cookieName}`);
  return (secure.length > 0 ? secure : named(cookieName)).slice(-maxCookies).reverse();
}

/**
 * The secrets of links that sign one browser in as the operator, once and soon. They are stored as hashes, by this server
 * alone.
 */
@Injectable()
export class SignInLinks {
  private readonly endings = new Map<string, number>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly adminKey: AdminKey,
  ) {}

  /** @returns undefined unless this server on loopback generated its key: readers of its output may read the key anyway */
  make(now = Date.now()): string | undefined {
    if (this.adminKey.file === undefined) return undefined;
    const once = randomBytes(32).toString('base64url');
    this.endings.set(hashOf(once), now + this.config.auth.signInLinkMs);
    return once;
  }

  /** Whether it may sign in: the first time, before its end. */
  take(once: string, now = Date.now()): boolean {
    const kept = hashOf(once);
    const ending = this.endings.get(kept) ?? 0;
    this.endings.delete(kept);
    return ending > now;
  }
}
