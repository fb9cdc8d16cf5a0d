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
}

/** A session that began at an OpenID provider, as the database has it. */
export interface StoredSession {
  readonly id: string;
  readonly issuer: string;
  readonly claims: Claims;
  readonly csrfHash: string;
  readonly expiresAt: Date;
}

interface KnownSession extends StoredSession {
  /** Undefined without rights. */
  principal: Principal | undefined;
}

/** The stored part of a secret that a browser holds. */
export const hashOf = (secret: string): string => hash('sha256', secret, 'base64url');

/** The sessions that began at an OpenID provider, in memory: no request asks the database whether its session is good. */
@Injectable()
export class KnownSessions {
  private readonly sessions = new Map<string, KnownSession>();

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
    if (!session?.principal || session.expiresAt.getTime() <= this.keys.clock.now()) return undefined;
    const { principal, csrfHash: tokenHash } = session;
    return { principal, tokenHash, expiresAt: session.expiresAt.getTime() };
  }

  has(id: string): boolean {
    return this.sessions.has(id);
  }

  add(stored: StoredSession): void {
    this.sessions.set(stored.id, { ...stored, principal: this.principalOf(stored) });
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
    const person = this.tokens.personOf(issuer, claims, expiresAt.getTime());
    return person && person.scopes.size > 0 ? person : undefined;
  }
}
