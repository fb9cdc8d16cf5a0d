import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { Problem } from '../../../base/common/errors.js';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { KeyRing, SealedValues } from '../../../base/config/key-ring.js';
import { FleetBarrier } from '../../../base/database/fleet-barrier.js';
import { TableFollower } from '../../../base/database/table-follower.js';
import { retryAtStart } from '../../../base/database/transient-error.js';
import { unauthorized } from '../access-policy.js';
import { KnownKeys } from '../known-keys.js';
import { hashOf, KnownSessions, type StoredSession } from '../known-sessions.js';
import { cookiesIn, type NewSession } from '../sessions.js';
import { AccessTokens } from '../tokens/access-tokens.js';
import type { Claims } from '../tokens/token-checks.js';

/** A person whom an OpenID provider vouches for. */
export interface SignedIn {
  readonly issuer: string;
  /** Of the ID token. */
  readonly claims: Claims;
  readonly idToken: string;
  /** Of the sign-in, which is taken once. */
  readonly state: string;
}

/** The sessions that a provider ends: those of its own session, else all of the person. */
export interface Logout {
  readonly issuer: string;
  readonly jti: string;
  readonly sid: string | undefined;
  readonly subject: string | undefined;
  /** Seconds since the epoch, by the provider's clock. */
  readonly issuedAt: number;
}

/** Sessions of one person: the oldest ones end. */
const maxOfOnePerson = 20;

/** Stores the sessions that began at an OpenID provider. Those in memory follow the table, whichever replica changes it. */
@Injectable()
export class ProviderSessions implements OnModuleInit, OnApplicationBootstrap {
  private readonly oneAtATime = new KeyedMutex();
  private readonly sealed: SealedValues;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly dataSource: DataSource,
    private readonly follower: TableFollower,
    private readonly barrier: FleetBarrier,
    private readonly keys: KnownKeys,
    private readonly known: KnownSessions,
    private readonly tokens: AccessTokens,
    ring: KeyRing,
  ) {
    this.sealed = new SealedValues(ring, 'console session');
  }

  /**
   * Begins a session that all replicas know.
   * @throws Problem `unauthorized` for a sign-in that was taken before, or that the provider ended meanwhile
   */
  async begin({ issuer, claims, idToken, state }: SignedIn): Promise<NewSession> {
    const secret = (): string => randomBytes(32).toString('base64url');
    const [cookie, csrfToken] = [secret(), secret()];
    const expiresAt = this.keys.clock.now() + this.config.auth.sessionMs;
    const { sub, iat } = claims;
    const sid = typeof claims['sid'] === 'string' ? claims['sid'] : null;
    await this.dataSource.transaction(async (manager) => {
      await this.takeOnce(manager, state, unauthorized('This sign-in was completed before: start again.'));
      const ended = await manager.query<unknown[]>(
        `SELECT 1 FROM console_logouts WHERE issuer = $1 AND issued_at >= $4
         AND (sid = $2 OR (subject = $3 AND ($2::text IS NULL OR sid IS NULL)))`,
        [issuer, sid, sub, iat],
      );
      if (ended.length > 0) throw unauthorized('The provider has signed you out meanwhile: start again.');
      await manager.query(
        `DELETE FROM console_sessions WHERE expires_at <= now() OR session_hash IN (
           SELECT session_hash FROM console_sessions WHERE issuer = $1 AND subject = $2
           ORDER BY began_at DESC OFFSET $3)`,
        [issuer, sub, maxOfOnePerson - 1],
      );
      await manager.query(
        `INSERT INTO console_sessions
           (session_hash, csrf_hash, issuer, subject, sid, claims, id_token, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          ...[hashOf(cookie), hashOf(csrfToken), issuer, sub, sid],
          ...[JSON.stringify(claims), this.sealed.seal({ idToken }), new Date(expiresAt)],
        ],
      );
    });
    await this.everywhere();
    return { cookie, csrfToken, expiresAt };
  }

  /**
   * Ends the session of a browser, at all replicas.
   * @returns its issuer and ID token; undefined for a browser without such a session
   */
  async end(cookieHeader: string | undefined): Promise<Pick<SignedIn, 'issuer' | 'idToken'> | undefined> {
    const ids = cookiesIn(cookieHeader)
      .map(hashOf)
      .filter((id) => this.known.has(id));
    if (ids.length === 0) return undefined;
    const [[ended]] = await this.dataSource.query<[{ issuer: string; id_token: string }[], number]>(
      'DELETE FROM console_sessions WHERE session_hash = ANY($1) RETURNING issuer, id_token',
      [ids],
    );
    await this.everywhere();
    const opened = ended && (this.sealed.open(ended.id_token) as Pick<SignedIn, 'idToken'> | undefined);
    return opened && { issuer: ended.issuer, idToken: opened.idToken };
  }

  /** Ends what a provider ends, at all replicas. @throws Problem `invalid_request` for a token that was taken before */
  async endAt({ issuer, jti, sid, subject, issuedAt }: Logout): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const before = new Problem('invalid_request', 'This logout token was taken before');
      await this.takeOnce(manager, `${issuer} ${jti}`, before, [issuer, sid, subject, issuedAt]);
      await manager.query(
        `DELETE FROM console_sessions WHERE issuer = $1
         AND (sid = $2 OR (subject = $3 AND ($2::text IS NULL OR sid IS NULL)))`,
        [issuer, sid ?? null, subject ?? null],
      );
    });
    await this.everywhere();
  }

  /** A server that listens knows its sessions. */
  async onModuleInit(): Promise<void> {
    if (this.tokens.consoles.length > 0) await retryAtStart(() => this.look());
  }

  onApplicationBootstrap(): void {
    if (this.tokens.consoles.length === 0) return;
    this.follower.follow({ table: 'console_sessions', what: 'the console sessions', everyMs: 2_000 }, () =>
      this.look(),
    );
  }

  /** Sign-ins and logouts take turns: neither misses what the other stores. */
  private async takeOnce(
    manager: EntityManager,
    id: string,
    problem: Problem,
    [issuer, sid, subject, issuedAt]: readonly unknown[] = [],
  ): Promise<void> {
    await manager.query('LOCK TABLE console_logouts IN SHARE ROW EXCLUSIVE MODE');
    await manager.query(`DELETE FROM console_logouts WHERE at < now() - interval '1 hour'`);
    const taken = await manager.query<unknown[]>(
      `INSERT INTO console_logouts (token_hash, issuer, sid, subject, issued_at)
       VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING 1`,
      [hashOf(id), issuer, sid, subject, issuedAt],
    );
    if (taken.length === 0) throw problem;
  }

  private async everywhere(): Promise<void> {
    await this.look();
    await this.barrier.pass();
  }

  /** Brings changes of the table into memory. One look after another: an older answer must not bring a session back. */
  private look(): Promise<void> {
    return this.oneAtATime.run('look', async () => {
      const good = await this.dataSource.query<{ id: string }[]>(
        'SELECT session_hash AS id FROM console_sessions WHERE expires_at > now()',
      );
      const ids = new Set(good.map(({ id }) => id));
      this.known.keepOnly(ids);
      const unknown = [...ids].filter((id) => !this.known.has(id));
      if (unknown.length === 0) return;
      const added = await this.dataSource.query<StoredSession[]>(
        `SELECT session_hash AS id, issuer, claims, csrf_hash AS "csrfHash", expires_at AS "expiresAt"
         FROM console_sessions WHERE session_hash = ANY($1)`,
        [unknown],
      );
      for (const session of added) this.known.add(session);
    });
  }
}
