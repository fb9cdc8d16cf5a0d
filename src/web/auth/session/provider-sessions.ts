import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { bulkhead } from 'cockatiel';
import { randomBytes } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { Problem } from '../../../base/common/errors.js';
import { newId } from '../../../base/common/ids.js';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { messageOf } from '../../../base/common/message-of.js';
import { SingleFlight } from '../../../base/common/single-flight.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { KeyRing, SealedValues } from '../../../base/config/key-ring.js';
import { FleetBarrier } from '../../../base/database/fleet-barrier.js';
import { TableFollower } from '../../../base/database/table-follower.js';
import { retryAtStart } from '../../../base/database/transient-error.js';
import { unauthorized } from '../access-policy.js';
import type { AuditEntryView } from '../audit/audit.dto.js';
import { actorOf, AuditLog } from '../audit/audit-log.js';
import { KnownKeys } from '../known-keys.js';
import { hashOf, KnownSessions, type StoredSession } from '../known-sessions.js';
import { cookiesIn, type NewSession } from '../sessions.js';
import { AccessTokens } from '../tokens/access-tokens.js';
import { type Logout, ProviderClient, type ProviderTokens, type SignedIn } from './provider-client.js';

/** Sessions of one person: the oldest ones end. */
const maxOfOnePerson = 20;
/** Renewals of a replica at a time: each holds a connection to the database. */
const maxRenewals = 2;
/** A provider that did not answer is not asked again before this time. */
const pauseMs = 30_000;

/** The parts of a session that name its person. */
type EndedSession = Pick<StoredSession, 'issuer' | 'claims'>;
/** The parts of an audit entry that come from a request. */
type EndedBy = Pick<AuditEntryView, 'address' | 'requestId'> & { readonly reason?: string };
const grantEnded = 'The provider has ended the sign-in: it refused the refresh token';

/** Stores the sessions that began at an OpenID provider. Those in memory follow the table, whichever replica changes it. */
@Injectable()
export class ProviderSessions implements OnModuleInit, OnApplicationBootstrap {
  private readonly oneAtATime = new KeyedMutex();
  private readonly logger = new Logger(ProviderSessions.name);
  private readonly renewing = bulkhead(maxRenewals, Infinity);
  private readonly flights = new SingleFlight<void>();
  private readonly sealed: SealedValues;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly dataSource: DataSource,
    private readonly follower: TableFollower,
    private readonly barrier: FleetBarrier,
    private readonly keys: KnownKeys,
    private readonly known: KnownSessions,
    private readonly tokens: AccessTokens,
    private readonly client: ProviderClient,
    private readonly audit: AuditLog,
    ring: KeyRing,
  ) {
    this.sealed = new SealedValues(ring, 'console session');
    known.renew = (id) => this.flights.join(id, () => this.renew(id));
  }

  /**
   * Begins a session that all replicas know.
   * @throws Problem `unauthorized` for a sign-in that was taken before, or that the provider ended meanwhile
   */
  async begin({ issuer, state, ...tokens }: SignedIn): Promise<NewSession> {
    const secret = (): string => randomBytes(32).toString('base64url');
    const [cookie, csrfToken] = [secret(), secret()];
    const expiresAt = this.keys.clock.now() + this.config.auth.sessionMs;
    const { claims } = tokens;
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
           (session_hash, csrf_hash, issuer, subject, sid, expires_at, claims, id_token, renew_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [
          ...[hashOf(cookie), hashOf(csrfToken), issuer, sub, sid, new Date(expiresAt)],
          ...this.storable(tokens),
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
  async endAt({ issuer, jti, sid, subject, issuedAt }: Logout, by: EndedBy): Promise<void> {
    const [ended] = await this.dataSource.transaction(async (manager) => {
      const before = new Problem('invalid_request', 'This logout token was taken before');
      await this.takeOnce(manager, `${issuer} ${jti}`, before, [issuer, sid, subject, issuedAt]);
      return manager.query<[EndedSession[]]>(
        `DELETE FROM console_sessions WHERE issuer = $1
         AND (sid = $2 OR (subject = $3 AND ($2::text IS NULL OR sid IS NULL))) RETURNING issuer, claims`,
        [issuer, sid ?? null, subject ?? null],
      );
    });
    await Promise.all([this.everywhere(), ...ended.map((session) => this.recordEnd(session, by))]);
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

  /** While the provider is away, the session stays as it is. */
  private async renew(id: string): Promise<void> {
    try {
      await this.renewing.execute(() => (this.known.isDue(id) ? this.renewNow(id) : undefined));
    } catch (error) {
      this.logger.warn(`Claims of console sessions cannot be renewed: ${messageOf(error)}`);
      this.known.postpone(id, this.keys.clock.now() + pauseMs);
    }
  }

  /** Replicas take turns: for all but the first, the session is not due any more. */
  private async renewNow(id: string): Promise<void> {
    const ended = await this.dataSource.transaction(async (sql) => {
      await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`console session ${id}`]);
      const [row] = await sql.query<(EndedSession & { sealed: string })[]>(
        `SELECT issuer, claims, id_token AS sealed FROM console_sessions WHERE session_hash = $1 AND renew_at <= $2`,
        [id, new Date(this.keys.clock.now())],
      );
      if (!row) return undefined;
      const kept = this.sealed.open(row.sealed) as ProviderTokens | undefined;
      const next = kept && (await this.client.renewed({ ...row, ...kept }));
      await (next
        ? sql.query(
            'UPDATE console_sessions SET claims = $2, id_token = $3, renew_at = $4 WHERE session_hash = $1',
            [id, ...this.storable(next)],
          )
        : sql.query('DELETE FROM console_sessions WHERE session_hash = $1', [id]));
      return next ? undefined : row;
    });
    await this.look();
    if (ended) await this.recordEnd(ended, { address: null, requestId: newId(), reason: grantEnded });
  }

  /** Values of claims, id_token and renew_at. */
  private storable({ claims, idToken, refreshToken, renewMs }: ProviderTokens): readonly unknown[] {
    const renewAt = refreshToken === undefined ? null : new Date(this.keys.clock.now() + renewMs);
    return [JSON.stringify(claims), this.sealed.seal({ idToken, refreshToken }), renewAt];
  }

  private async recordEnd({ issuer, claims }: EndedSession, by: EndedBy): Promise<void> {
    const person = this.tokens.personOf(issuer, claims, 0);
    const act = { action: 'endProviderSessions', target: 'session', project: null, status: 200 };
    if (person) await this.audit.write({ ...actorOf(person), ...act, reason: null, ...by });
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
      const good = await this.dataSource.query<Pick<StoredSession, 'id' | 'renewAt'>[]>(
        'SELECT session_hash AS id, renew_at AS "renewAt" FROM console_sessions WHERE expires_at > now()',
      );
      this.known.keepOnly(new Set(good.map(({ id }) => id)));
      const unknown = good.filter(({ id, renewAt }) => !this.known.has(id, renewAt)).map(({ id }) => id);
      if (unknown.length === 0) return;
      const added = await this.dataSource.query<StoredSession[]>(
        `SELECT session_hash AS id, issuer, claims, csrf_hash AS "csrfHash", expires_at AS "expiresAt",
           renew_at AS "renewAt"
         FROM console_sessions WHERE session_hash = ANY($1)`,
        [unknown],
      );
      for (const session of added) this.known.add(session);
    });
  }
}
