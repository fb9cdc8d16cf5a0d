import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import type { Principal } from '../contract/principal.js';
import { KnownKeys } from './known-keys.js';
import { AccessTokens } from './tokens/access-tokens.js';
import type { Claims } from './tokens/token-checks.js';

/** A browser that signed in. */
export interface Session {
  readonly principal: Principal;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** SHA-256 of the CSRF token. */
  readonly tokenHash: string;
  /** Present if the claims of its person are to be renewed before it is used. */
  readonly renew?: () => Promise<void>;
}

/** A session that began at an OpenID provider, as the database has it. */
export interface StoredSession {
  readonly id: string;
  readonly issuer: string;
  readonly claims: Claims;
  readonly csrfHash: string;
  readonly expiresAt: Date;
  /** When the claims are to be renewed; null: the provider gave no refresh token. */
  readonly renewAt: Date | null;
}

interface KnownSession extends StoredSession {
  /** Undefined if people do not sign in at its issuer any more. */
  principal: Principal | undefined;
  /** `renewAt`, or later while the provider is away. */
  dueAt: number;
}

/** The stored part of a secret that a browser holds. */
export const hashOf = (secret: string): string => hash('sha256', secret, 'base64url');

/** The sessions that began at an OpenID provider, in memory: no request asks the database whether its session is good. */
@Injectable()
export class KnownSessions {
  private readonly sessions = new Map<string, KnownSession>();
  /** Renews the claims of a session, by its id. Set by the room that stores sessions. */
  renew: (id: string) => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly tokens: AccessTokens,
    private readonly keys: KnownKeys,
  ) {
    tokens.changed.subscribe(() => {
      for (const session of this.sessions.values()) session.principal = this.principalOf(session);
    });
  }

  /** @param secret the value of the cookie */
  find(secret: string): Session | undefined {
    const session = this.sessions.get(hashOf(secret));
    const now = this.keys.clock.now();
    if (!session?.principal || session.expiresAt.getTime() <= now) return undefined;
    const { id, principal, csrfHash: tokenHash, dueAt } = session;
    const found = { principal, tokenHash, expiresAt: session.expiresAt.getTime() };
    return dueAt > now ? found : { ...found, renew: () => this.renew(id) };
  }

  /** @param renewAt as the database has it; undefined: any */
  has(id: string, renewAt?: Date | null): boolean {
    const session = this.sessions.get(id);
    return (
      session !== undefined && (renewAt === undefined || session.renewAt?.getTime() === renewAt?.getTime())
    );
  }

  isDue(id: string): boolean {
    return (this.sessions.get(id)?.dueAt ?? Infinity) <= this.keys.clock.now();
  }

  /** Keeps the claims of a session, and of all others at its provider, until a moment. */
  postpone(id: string, until: number): void {
    const away = this.sessions.get(id)?.issuer;
    for (const session of this.sessions.values())
      if (session.issuer === away) session.dueAt = Math.max(session.dueAt, until);
  }

  /** Streams end whose caller has other rights now. */
  add(stored: StoredSession): void {
    const [before, principal] = [this.sessions.get(stored.id)?.principal, this.principalOf(stored)];
    this.sessions.set(stored.id, { ...stored, principal, dueAt: stored.renewAt?.getTime() ?? Infinity });
    if (before?.keyId !== undefined && rightsIn(before) !== rightsIn(principal))
      this.keys.ended.emit(before.keyId);
  }

  /** Forgets all others, and ends the streams of their callers. @param ids of the sessions that are good */
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

const rightsIn = (principal: Principal | undefined): string =>
  JSON.stringify([[...(principal?.scopes ?? [])], principal?.projects, principal?.tools]);
