import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { bulkhead } from 'cockatiel';
import { LRUCache } from 'lru-cache';
import type { Server } from 'node:net';
import { DataSource, type EntityManager } from 'typeorm';
import { Refusal } from '../../../base/common/errors.js';
import { SingleFlight } from '../../../base/common/single-flight.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { KeyRing, SealedValues } from '../../../base/config/key-ring.js';
import { TableFollower } from '../../../base/database/table-follower.js';
import { portOf } from '../../../base/outbound/addresses.js';
import { SignInNeeded } from '../../mcp-client/credential.js';
import type { Principal, TokenText } from '../../../web/contract/principal.js';
import { EnvCipher, type StoredEnv } from '../../secrets/env-cipher.js';
import { exchangeToken, type Grant, GrantEnded, type OAuthServer, refreshGrant } from './oauth-flow.js';

/** The MCP server of an account. */
export interface AccountServer extends OAuthServer {
  readonly id: string;
  readonly name: string;
}

/** A one-time sign-in link of one caller for one server. */
export interface SignInLink {
  readonly server: string;
  readonly user: string;
  /** The caller's name for display. */
  readonly userName: string;
  readonly scope?: string | undefined;
  /** Time of its creation, in milliseconds since the epoch. */
  readonly at: number;
}

/** The columns of an account that are read to use it. */
interface StoredAccount {
  readonly status: 'active' | 'needs_sign_in';
  readonly url: string;
  readonly env: StoredEnv;
  readonly revision: number;
}

/** A server and the caller's account at it; without `status` there is none. */
export interface AccountRow {
  readonly serverId: string;
  readonly server: string;
  readonly status: StoredAccount['status'] | null;
  readonly scope: string | null;
  readonly createdAt: Date | null;
}

const maxCached = 10_000;
/** Concurrent refreshes of a replica. Each holds a database connection. */
const maxRefreshes = 4;
const linkMs = 600_000;
/** Path of the page that a sign-in link opens. */
export const signInPath = '/accounts/sign-in';

/** Cache key. It contains the URL, so that no token is sent to another address after the URL has changed. */
const keyOf = ({ id, url }: AccountServer, user: string): string => `${id} ${url.href} ${user}`;
/** The id to which the encryption of an account's grant is bound. */
const cipherId = (server: string, user: string): string => `account ${server} ${user}`;

/** Accounts of callers at MCP servers. Tokens are cached in memory until they expire, and encrypted in the database. */
@Injectable()
export class Accounts implements OnApplicationBootstrap {
  /** Grants by `keyOf`. */
  private readonly cached = new LRUCache<string, Grant>({ max: maxCached });
  /** Callers' access tokens that can be exchanged, by owner (see `ownerOf`), until they expire. */
  private readonly subjects = new LRUCache<string, TokenText>({ max: maxCached });
  /** Scopes that servers asked for and accounts lack. */
  private readonly missingScopes = new LRUCache<string, string>({ max: maxCached });
  /** Reads and renewals in progress, so that concurrent calls share them. */
  private readonly flights = new SingleFlight<Grant>();
  private readonly refreshing = bulkhead(maxRefreshes, maxCached);
  private readonly links: SealedValues;
  private readonly ownPort: () => number | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'server'>,
    private readonly dataSource: DataSource,
    private readonly cipher: EnvCipher,
    private readonly follower: TableFollower,
    keys: KeyRing,
    http: HttpAdapterHost,
  ) {
    this.links = new SealedValues(keys, 'account sign-in');
    this.ownPort = () => portOf(http.httpAdapter.getHttpServer() as Server);
  }

  onApplicationBootstrap(): void {
    const followed = { table: 'accounts', what: 'the accounts at MCP servers', everyMs: 60_000 };
    this.follower.follow(followed, async () => this.cached.clear());
  }

  /** The address of this server as browsers see it. */
  get base(): string {
    return this.config.server.publicUrl ?? `http://127.0.0.1:${this.ownPort()}`;
  }

  /**
   * The owner of a caller's account and sessions: its key or, if access tokens are exchanged, each token by itself, so that
   * agents of one person do not share what they obtain.
   */
  ownerOf({ env }: OAuthServer, { keyId, token }: Principal): string | undefined {
    if (!token?.text || env['OAUTH_EXCHANGE_URL'] === undefined) return keyId;
    const owner = `${keyId} ${token.text.id}`;
    const ttl = Math.max(1, token.expiresAt - Date.now());
    if (!this.subjects.has(owner)) this.subjects.set(owner, token.text, { ttl });
    return owner;
  }

  /**
   * The tokens of an account. Synchronous while the cached one is valid.
   * @param user the owner: see `ownerOf`
   * @throws SignInNeeded
   */
  grant(server: AccountServer, user: string): Grant | Promise<Grant> {
    const key = keyOf(server, user);
    const known = this.cached.get(key);
    if (known && !isDue(known)) return known;
    return this.flights.join(key, () => this.load(server, user));
  }

  /** All scopes that the account needs, if the server has demanded more than it has; else undefined. */
  missingScopesOf(server: AccountServer, user: string): string | undefined {
    return this.missingScopes.get(keyOf(server, user));
  }

  /** Notes the scopes that a server demands. @throws SignInNeeded always */
  demandScopes(server: AccountServer, user: string, scopes: string): never {
    this.missingScopes.set(keyOf(server, user), scopes);
    throw new SignInNeeded('Its server asks for more scopes', scopes);
  }

  /** A new grant in place of one that the server refused. @param refused its access token @throws SignInNeeded */
  renewedGrant(server: AccountServer, user: string, refused: string): Grant | Promise<Grant> {
    const key = keyOf(server, user);
    const known = this.cached.get(key);
    if (known && known.accessToken !== refused) return known;
    this.cached.delete(key);
    return this.flights.join(`${key} ${refused}`, () => this.renew(server, user, refused));
  }

  /** Stores a new account, or replaces the caller's account at the server. */
  async save(server: AccountServer, user: string, grant: Grant): Promise<void> {
    const { id, url } = server;
    await this.dataSource.query(
      `INSERT INTO accounts (server_id, user_id, url, status, scope, env) VALUES ($1, $2, $3, 'active', $4, $5)
       ON CONFLICT (server_id, user_id) DO UPDATE SET url = excluded.url, status = 'active', scope = excluded.scope,
         env = excluded.env, revision = accounts.revision + 1, created_at = now()`,
      [id, user, url.href, grant.scope ?? null, this.sealed(id, user, grant)],
    );
    this.cached.delete(keyOf(server, user));
    this.missingScopes.delete(keyOf(server, user));
  }

  /** All servers that need an account, with the account of one caller. */
  list(user: string): Promise<AccountRow[]> {
    return this.dataSource.query<AccountRow[]>(
      `SELECT t.id AS "serverId", t.name AS server, a.status, a.scope, a.created_at AS "createdAt" FROM custom_tools t
       LEFT JOIN accounts a ON a.server_id = t.id AND a.user_id = $1 AND a.url = coalesce(t.url, a.url)
       WHERE t.credentials = 'user' ORDER BY t.name`,
      [user],
    );
  }

  /** Deletes an account. @returns whether there was one */
  async end(server: string, user: string): Promise<boolean> {
    const sql = `DELETE FROM accounts a USING custom_tools t
      WHERE a.server_id = t.id AND t.name = $1 AND a.user_id = $2 RETURNING a.server_id`;
    const [deleted] = await this.dataSource.query<[unknown[]]>(sql, [server, user]);
    this.cached.clear();
    return deleted.length > 0;
  }

  linkFor(link: Omit<SignInLink, 'at'>): string {
    // Request logs leave queries out.
    return `${this.base}${signInPath}?link=${this.links.seal({ ...link, at: Date.now() })}`;
  }

  /** Reads a sign-in link. @returns undefined if it was altered, has expired or was used */
  async openLink(sealed: string): Promise<SignInLink | undefined> {
    const link = this.links.open(sealed) as SignInLink | undefined;
    if (!link || link.at + linkMs < Date.now()) return undefined;
    const used = await this.dataSource.query<unknown[]>(
      `SELECT FROM accounts WHERE server_id = $1 AND user_id = $2 AND status = 'active' AND created_at >= $3`,
      [link.server, link.user, new Date(link.at)],
    );
    return used.length > 0 ? undefined : link;
  }

  /** @returns the refusal of a call whose caller must sign in first */
  refusal(server: AccountServer, caller: Principal, { message, scope }: Partial<SignInNeeded> = {}): Refusal {
    const { id, name, env } = server;
    const { keyId: user, userId: userName } = caller;
    const needed = (detail: string, details = {}): Refusal =>
      new Refusal('authorization_required', `${name} ${detail}`, details);
    if (user === undefined) return needed('is called with an account of each caller: send a key');
    if (this.ownerOf(server, caller) !== user)
      return needed(`is called with a token in exchange for that of its caller. ${message}`);
    const signInUrl = this.linkFor({ server: id, user, userName, scope });
    const way =
      env['OAUTH_EXCHANGE_URL'] === undefined
        ? 'is called with an account of each caller:'
        : "exchanges the caller's access token, and this call has none (asynchronous calls do not store theirs): call it with one, or";
    return needed(`${way} open ${signInUrl} within 10 minutes and sign in, then call again`, { signInUrl });
  }

  /** Reads the grant of an account, or exchanges the caller's access token for one. */
  private async load(server: AccountServer, user: string): Promise<Grant> {
    const subject = this.subjects.get(user);
    if (subject) return this.exchange(server, user, subject);
    const grant = (await this.read(this.dataSource.manager, server, user)).grant;
    if (isDue(grant)) return this.renew(server, user, grant.accessToken);
    this.cached.set(keyOf(server, user), grant);
    return grant;
  }

  /** Exchanges a caller's access token for a grant. */
  private async exchange(server: AccountServer, user: string, subject: TokenText): Promise<Grant> {
    // A token is sent to its own issuer only, so that authors of tools cannot collect the tokens of callers.
    const { origin } = new URL(user);
    if (URL.parse(server.env['OAUTH_EXCHANGE_URL'] ?? '')?.origin !== origin)
      throw new SignInNeeded(`Access tokens of ${origin} are exchanged at no other OAUTH_EXCHANGE_URL`);
    const grant = await exchangeToken(server, subject.reveal()).catch((error: unknown) => {
      throw error instanceof GrantEnded ? new SignInNeeded(error.message) : error;
    });
    const ttl = Math.max(1, this.subjects.getRemainingTTL(user));
    this.cached.set(keyOf(server, user), grant, { ttl });
    return grant;
  }

  /**
   * Refreshes the tokens of an account. One replica refreshes at a time; those that waited for it find the new tokens in
   * the row.
   * @param tried the access token to replace
   */
  private async renew(server: AccountServer, user: string, tried: string): Promise<Grant> {
    const subject = this.subjects.get(user);
    if (subject) return this.exchange(server, user, subject);
    const lock = `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`;
    const work = async (sql: EntityManager): Promise<Grant | GrantEnded> => {
      await sql.query(lock, [cipherId(server.id, user)]);
      const { grant, revision } = await this.read(sql, server, user);
      if (grant.accessToken !== tried) return grant;
      const where = 'WHERE server_id = $1 AND user_id = $2 AND revision = $3';
      try {
        const next = await refreshGrant(server, grant);
        const values = [server.id, user, revision, this.sealed(server.id, user, next), next.scope ?? null];
        const set = 'env = $4, scope = $5, revision = revision + 1';
        const [, count] = await sql.query<[unknown, number]>(`UPDATE accounts SET ${set} ${where}`, values);
        // The owner has deleted the account meanwhile, or signed in again.
        return count > 0 ? next : (await this.read(sql, server, user)).grant;
      } catch (error) {
        if (!(error instanceof GrantEnded)) throw error;
        await sql.query(`UPDATE accounts SET status = 'needs_sign_in' ${where}`, [server.id, user, revision]);
        // Returned, because throwing it would roll the status back.
        return error;
      }
    };
    const next = await this.refreshing.execute(() => this.dataSource.transaction(work));
    if (next instanceof GrantEnded) throw new SignInNeeded(next.message);
    this.cached.set(keyOf(server, user), next);
    return next;
  }

  /** Reads an account. @throws SignInNeeded if there is none that can be used */
  private async read(
    sql: EntityManager,
    { id, url, name }: AccountServer,
    user: string,
  ): Promise<{ readonly grant: Grant; readonly revision: number }> {
    const [row] = await sql.query<StoredAccount[]>(
      'SELECT status, url, env, revision FROM accounts WHERE server_id = $1 AND user_id = $2',
      [id, user],
    );
    if (!row || row.status !== 'active' || row.url !== url.href)
      throw new SignInNeeded(`There is no account at ${name} for this caller`);
    const { grant = '' } = this.cipher.open(cipherId(id, user), row.env);
    return { grant: JSON.parse(grant) as Grant, revision: row.revision };
  }

  /** The column `env` of an account: its grant, encrypted. */
  private sealed(server: string, user: string, grant: Grant): string {
    return JSON.stringify(
      this.cipher.seal(cipherId(server, user), { grant: { value: JSON.stringify(grant), secret: true } }),
    );
  }
}

/** Whether the tokens must be refreshed before their next use. */
const isDue = ({ renewAt = Infinity }: Grant): boolean => renewAt <= Date.now();
