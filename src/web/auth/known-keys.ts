import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { type Clock, systemClock } from '../../base/common/clock.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import { DatabaseHealth } from '../../base/database/database-health.js';
import { type Principal, type Scope, scopes } from '../contract/principal.js';
import { AdminKey, hashOfKey, idIn } from './api-key.js';
import type { StoredKey } from './keys/keys.dto.js';

interface KnownKey {
  readonly hash: Buffer;
  readonly principal: Principal;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The id of the key that no table holds: ADMIN_API_KEY, or that of the data directory. */
export const adminKeyId = 'admin';

const including: Partial<Record<Scope, readonly Scope[]>> = {
  admin: scopes,
  // Callers who register tools also try them, and look how they do.
  'tools:admin': ['tools:call', 'metrics:read'],
};

/** Scopes with those that they include. */
export const allScopesOf = (given: readonly Scope[]): ReadonlySet<Scope> =>
  new Set(given.flatMap((scope) => [scope, ...(including[scope] ?? [])]));

/** The keys that open something, in memory: no request asks the database whether its key is good. */
@Injectable()
export class KnownKeys {
  private keys: ReadonlyMap<string, KnownKey> = new Map();
  private readonly admin: KnownKey;
  private used = new Map<string, number>();
  private readonly logger = new Logger(KnownKeys.name);
  /** Emits the id of each key that became invalid or whose projects or tools changed. */
  readonly ended = new TypedEvents<string>((error) => this.logger.error(error));

  /** The file with the operator's key; undefined if it was configured, or if there is none. */
  readonly adminKeyFile: string | undefined;

  /** @param clock the database's: a key expires on all replicas at once */
  constructor(
    { hash, file }: AdminKey,
    @Optional() @Inject(DatabaseHealth) readonly clock: Clock = systemClock,
  ) {
    this.adminKeyFile = file;
    const principal = { userId: 'admin', keyId: adminKeyId, scopes: new Set(scopes) };
    // A hash that no key has stands in for a missing key of the operator.
    this.admin = { hash: hash ?? randomBytes(32), principal, expiresAt: Infinity };
  }

  /**
   * Takes the same time for known and unknown ids: one hash and one comparison. A key with an unknown id is compared
   * with the operator's.
   * @returns undefined for an invalid key
   */
  find(presented: string | undefined): Principal | undefined {
    if (presented === undefined) return undefined;
    const id = idIn(presented) ?? '';
    const key = this.keys.get(id) ?? this.admin;
    return timingSafeEqual(hashOfKey(presented), key.hash) ? this.use(key) : undefined;
  }

  /**
   * The owner of a key that was shown before, by its id, which proves nothing by itself.
   * @returns undefined for a key that opens nothing (any more)
   */
  withId(id: string): Principal | undefined {
    const key = id === adminKeyId ? this.admin : this.keys.get(id);
    return key && this.use(key);
  }

  private use({ principal, expiresAt }: KnownKey): Principal | undefined {
    const now = this.clock.now();
    if (expiresAt <= now) return undefined;
    if (principal.keyId !== undefined && principal.keyId !== adminKeyId) this.used.set(principal.keyId, now);
    return principal;
  }

  /** Replaces all keys but the operator's. */
  replace(stored: readonly StoredKey[]): void {
    const before = this.keys;
    this.keys = new Map(stored.map((key) => [key.id, knownKey(key)]));
    for (const [id, key] of before) if (!opensTheSame(key, this.keys.get(id))) this.ended.emit(id);
  }

  /** Forgets the keys whose time is over. */
  forgetExpired(now = this.clock.now()): void {
    const expired = [...this.keys].filter(([, { expiresAt }]) => expiresAt <= now);
    if (expired.length === 0) return;
    const left = new Map(this.keys);
    for (const [id] of expired) left.delete(id);
    this.keys = left;
    for (const [id] of expired) this.ended.emit(id);
  }

  /** When keys were used last, in milliseconds since the epoch, of those that were used since the last time of asking. */
  takeUsed(): ReadonlyMap<string, number> {
    const { used } = this;
    this.used = new Map();
    return used;
  }
}

/** A key's scopes never change. */
function opensTheSame(before: KnownKey, after: KnownKey | undefined): boolean {
  const limits = ({ principal: { projects, tools } }: KnownKey): string => JSON.stringify([projects, tools]);
  return after !== undefined && limits(before) === limits(after);
}

function knownKey({ id, hash, owner, scopes: given, projects, tools, rate, expiresAt }: StoredKey): KnownKey {
  const principal: Principal = {
    userId: owner,
    keyId: id,
    scopes: allScopesOf(given),
    ...(projects && { projects }),
    ...(tools && { tools }),
    ...(rate && { rate }),
  };
  return { hash, principal, expiresAt: expiresAt?.getTime() ?? Infinity };
}
