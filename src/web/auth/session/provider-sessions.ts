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

/** Max sessions of one person. Further ones end the oldest. */
const maxPerPerson = 20;
/** Max renewals of a replica at a time: each holds a connection to the database. */
const maxRenewals = 2;
/** Pause before a provider that did not answer is asked again. */
const retryPauseMs = 30_000;

/** The parts of an ended session that identify its person. */
type EndedSession = Pick<StoredSession, 'issuer' | 'claims'>;
/** The parts of an audit entry that come from a request. */
type EndedBy = Pick<AuditEntryView, 'address' | 'requestId'> & { readonly reason?: string };
/** Reason in the audit entry of a session whose claims cannot be renewed any more. */
const providerEnded = 'The provider has ended the sign-in: it refused the refresh token';

/** Sessions that began at an OpenID provider. They are stored in a table, which each replica follows in memory. */
@Injectable()
export class ProviderSessions implements OnModuleInit, OnApplicationBootstrap {
  private readonly oneAtATime = new KeyedMutex();
  private readonly logger = new Logger(ProviderSessions.name);
  private readonly renewalSlots = bulkhead(maxRenewals, Infinity);
  /** Renewals in progress, by the id of the session. */
  private readonly renewals = new SingleFlight<void>();
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
    known.renew = (id) => this.renewals.join(id, () => this.renew(id));
  }

  /**
   * Begins a session that all replicas know.
   * @throws Problem `unauthorized` for a sign-in that was completed before, or that the provider has ended meanwhile
   */
  async begin({ issuer, state, ...tokens }: SignedIn): Promise<NewSession> {
    const newSecret = (): string => randomBytes(32).toString('base64url');
    const [cookie, csrfToken] = [newSecret(), newSecret()];
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
        [issuer, sub, maxPerPerson - 1],
      );
      await manager.query(
        `INSERT INTO console_sessions
           (session_hash, csrf_hash, issuer, subject, sid, expires_at, claims, id_token, renew_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [hashOf(cookie), hashOf(csrfToken), issuer, sub, sid, new Date(expiresAt), ...this.storable(tokens)],
      );
    });
    await this.syncReplicas();
    return { cookie, csrfToken, expiresAt };
  }

  /** Ends a browser's session at all replicas. @returns its issuer and ID token; undefined if the browser has none */
  async end(cookieHeader: string | undefined): Promise<Pick<SignedIn, 'issuer' | 'idToken'> | undefined> {
    const secrets = cookiesIn(cookieHeader);
    const ids = secrets.map(hashOf).filter((id) => this.known.has(id));
    if (ids.length === 0) return undefined;
    const [[ended]] = await this.dataSource.query<[{ issuer: string; id_token: string }[], number]>(
      'DELETE FROM console_sessions WHERE session_hash = ANY($1) RETURNING issuer, id_token',
      [ids],
    );
    await this.syncReplicas();
    if (!ended) return undefined;
    const tokens = this.sealed.open(ended.id_token) as Pick<SignedIn, 'idToken'> | undefined;
    return tokens && { issuer: ended.issuer, idToken: tokens.idToken };
  }

  /** Ends the sessions that a logout token names, at all replicas. @throws Problem `invalid_request` for a used token */
  async endAt({ issuer, jti, sid, subject, issuedAt }: Logout, by: EndedBy): Promise<void> {
    const [ended] = await this.dataSource.transaction(async (manager) => {
      const reused = new Problem('invalid_request', 'This logout token was taken before');
      await this.takeOnce(manager, `${issuer} ${jti}`, reused, { issuer, sid, subject, issuedAt });
      return manager.query<[EndedSession[]]>(
        `DELETE FROM console_sessions WHERE issuer = $1
         AND (sid = $2 OR (subject = $3 AND ($2::text IS NULL OR sid IS NULL))) RETURNING issuer, claims`,
        [issuer, sid ?? null, subject ?? null],
      );
    });
    await Promise.all([this.syncReplicas(), ...ended.map((session) => this.recordEnd(session, by))]);
  }

  /** Loads the sessions before the server listens. */
  async onModuleInit(): Promise<void> {
    if (this.tokens.consoles.length > 0) await retryAtStart(() => this.reload());
  }

  onApplicationBootstrap(): void {
    if (this.tokens.consoles.length === 0) return;
    const table = { table: 'console_sessions', what: 'the console sessions', everyMs: 2_000 };
    this.follower.follow(table, () => this.reload());
  }

  /** Renews a session's claims. If the provider does not answer, the session stays as it is. */
  private async renew(id: string): Promise<void> {
    try {
      await this.renewalSlots.execute(() => (this.known.isDue(id) ? this.renewNow(id) : undefined));
    } catch (error) {
      this.logger.warn(`Claims of console sessions cannot be renewed: ${messageOf(error)}`);
      this.known.postpone(id, this.keys.clock.now() + retryPauseMs);
    }
  }

  /** Renews a session under a lock. Other replicas that wait for the lock then find that it is not due. */
  private async renewNow(id: string): Promise<void> {
    const ended = await this.dataSource.transaction(async (manager) => {
      await manager.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`console session ${id}`]);
      const [row] = await manager.query<(EndedSession & { sealed: string })[]>(
        `SELECT issuer, claims, id_token AS sealed FROM console_sessions WHERE session_hash = $1 AND renew_at <= $2`,
        [id, new Date(this.keys.clock.now())],
      );
      if (!row) return undefined;
      const tokens = this.sealed.open(row.sealed) as ProviderTokens | undefined;
      const next = tokens && (await this.client.renew({ ...row, ...tokens }));
      await (next
        ? manager.query(
            'UPDATE console_sessions SET claims = $2, id_token = $3, renew_at = $4 WHERE session_hash = $1',
            [id, ...this.storable(next)],
          )
        : manager.query('DELETE FROM console_sessions WHERE session_hash = $1', [id]));
      return next ? undefined : row;
    });
    await this.reload();
    if (ended) await this.recordEnd(ended, { address: null, requestId: newId(), reason: providerEnded });
  }

  /** Values of the columns claims, id_token and renew_at. */
  private storable({ claims, idToken, refreshToken, renewMs }: ProviderTokens): readonly unknown[] {
    const renewAt = refreshToken === undefined ? null : new Date(this.keys.clock.now() + renewMs);
    return [JSON.stringify(claims), this.sealed.seal({ idToken, refreshToken }), renewAt];
  }

  /** Writes the end of a session to the audit log. */
  private async recordEnd({ issuer, claims }: EndedSession, by: EndedBy): Promise<void> {
    const person = this.tokens.personOf(issuer, claims, 0);
    const entry = { action: 'endProviderSessions', target: 'session', project: null, status: 200 };
    if (person) await this.audit.write({ ...actorOf(person), ...entry, reason: null, ...by });
  }

  /**
   * Stores the id of a sign-in or logout, so that it is accepted once. The lock makes sign-ins and logouts wait for each
   * other, so that neither misses what the other stores.
   * @param logout absent for a sign-in
   * @throws `problem` if the id is stored already
   */
  private async takeOnce(
    manager: EntityManager,
    id: string,
    problem: Problem,
    logout?: Omit<Logout, 'jti'>,
  ): Promise<void> {
    await manager.query('LOCK TABLE console_logouts IN SHARE ROW EXCLUSIVE MODE');
    await manager.query(`DELETE FROM console_logouts WHERE at < now() - interval '1 hour'`);
    const inserted = await manager.query<unknown[]>(
      `INSERT INTO console_logouts (token_hash, issuer, sid, subject, issued_at)
       VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING 1`,
      [hashOf(id), logout?.issuer, logout?.sid, logout?.subject, logout?.issuedAt],
    );
    if (inserted.length === 0) throw problem;
  }

  /** Waits until all replicas know the change. */
  private async syncReplicas(): Promise<void> {
    await this.reload();
    await this.barrier.pass();
  }

  /** Copies changes of the table into memory. One reload at a time, so that an older answer cannot restore a session. */
  private reload(): Promise<void> {
    return this.oneAtATime.run('reload', async () => {
      const valid = await this.dataSource.query<Pick<StoredSession, 'id' | 'renewAt'>[]>(
        'SELECT session_hash AS id, renew_at AS "renewAt" FROM console_sessions WHERE expires_at > now()',
      );
      this.known.keepOnly(new Set(valid.map(({ id }) => id)));
      const unknown = valid.filter(({ id, renewAt }) => !this.known.has(id, renewAt)).map(({ id }) => id);
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
