import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import type { Principal } from '../contract/principal.js';
import { KnownKeys } from './known-keys.js';
import { AccessTokens } from './tokens/access-tokens.js';
import type { Claims } from './tokens/token-checks.js';

export interface Session {
  readonly principal: Principal;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** SHA-256 of the CSRF token. */
  readonly tokenHash: string;
  /** Present if the person's claims must be renewed before it is used. */
  readonly renew?: () => Promise<void>;
}

/** A stored session, which began at an OpenID provider. */
export interface StoredSession {
  readonly id: string;
  readonly issuer: string;
  readonly claims: Claims;
  readonly csrfHash: string;
  readonly expiresAt: Date;
  /** Time at which the claims are renewed; null without a refresh token. */
  readonly renewAt: Date | null;
}

interface KnownSession extends StoredSession {
  /** Undefined if people cannot sign in at its issuer any more. */
  principal: Principal | undefined;
  /** `renewAt` in milliseconds since the epoch, or later if the provider does not answer. */
  dueAt: number;
}

/** The stored hash of a browser's secret. */
export const hashOf = (secret: string): string => hash('sha256', secret, 'base64url');

/** All sessions that began at an OpenID provider, in memory, so that no request asks the database about its session. */
@Injectable()
export class KnownSessions {
  private readonly sessions = new Map<string, KnownSession>();
  /** Renews the claims of a session, by its id. Set by ProviderSessions. */
  renew: (id: string) => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly tokens: AccessTokens,
    private readonly keys: KnownKeys,
  ) {
    tokens.changed.subscribe(() => {
      for (const session of this.sessions.values()) session.principal = this.principalOf(session);
    });
  }

  /** The session of a cookie's value. */
  find(secret: string): Session | undefined {
    const session = this.sessions.get(hashOf(secret));
    const now = this.keys.clock.now();
    if (!session?.principal || session.expiresAt.getTime() <= now) return undefined;
    const { id, principal, csrfHash: tokenHash, dueAt } = session;
    const found = { principal, tokenHash, expiresAt: session.expiresAt.getTime() };
    return dueAt > now ? found : { ...found, renew: () => this.renew(id) };
  }

  /** Whether the session is known, with this time of renewal if given. */
  has(id: string, renewAt?: Date | null): boolean {
    const session = this.sessions.get(id);
    if (!session || renewAt === undefined) return session !== undefined;
    return session.renewAt?.getTime() === renewAt?.getTime();
  }

  /** Whether the claims of a session must be renewed now. */
  isDue(id: string): boolean {
    return (this.sessions.get(id)?.dueAt ?? Infinity) <= this.keys.clock.now();
  }

  /** Postpones the renewal of all sessions of the session's provider, which does not answer. @param until ms since the epoch */
  postpone(id: string, until: number): void {
    const issuer = this.sessions.get(id)?.issuer;
    for (const session of this.sessions.values())
      if (session.issuer === issuer) session.dueAt = Math.max(session.dueAt, until);
  }

  /** Adds or replaces a session. Streams end if their caller's rights have changed. */
  add(stored: StoredSession): void {
    const before = this.sessions.get(stored.id)?.principal;
    const principal = this.principalOf(stored);
    this.sessions.set(stored.id, { ...stored, principal, dueAt: stored.renewAt?.getTime() ?? Infinity });
    if (before?.keyId !== undefined && rightsIn(before) !== rightsIn(principal))
      this.keys.ended.emit(before.keyId);
  }

  /** Removes all other sessions, and ends the streams of their callers. @param ids ids of the valid sessions */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const [id, { issuer, claims }] of this.sessions) {
      if (ids.has(id)) continue;
      this.sessions.delete(id);
      this.keys.ended.emit(`${issuer}#${String(claims['sub'])}`);
    }
  }

  private principalOf({ issuer, claims, expiresAt }: StoredSession): Principal | undefined {
    return this.tokens.personOf(issuer, claims, expiresAt.getTime());
  }
}

/** The rights of a caller as text, for comparison. */
const rightsIn = (principal: Principal | undefined): string =>
  JSON.stringify([[...(principal?.scopes ?? [])], principal?.projects, principal?.tools]);
