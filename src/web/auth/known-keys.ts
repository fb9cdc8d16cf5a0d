import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Clock, systemClock } from '../../base/common/clock.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import { type AppConfig, ConfigurationError } from '../../base/config/app-config.js';
import { KeyFileError, makeKeyFile, readKeyFile } from '../../base/config/key-file.js';
import { DatabaseHealth } from '../../base/database/database-health.js';
import { type Principal, type Scope, scopes, type ToolChoice } from '../contract/principal.js';
import type { StoredKey } from './keys/keys.dto.js';

/** The key a request brings: `Authorization: Bearer <key>`, else `x-api-key`. Any other text after `Bearer` is a wrong key. */
export function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const { authorization = '', 'x-api-key': plain } = headers;
  if (/^bearer +\S/i.test(authorization)) return authorization.slice('bearer'.length).trim();
  return typeof plain === 'string' ? plain : undefined;
}

/** Generates a key, `tk_<id>_<secret>`. The id is public; ids sort by creation time. */
export function newKey(at = Date.now()): { readonly id: string; readonly key: string } {
  const id = at.toString(16).padStart(12, '0') + randomBytes(4).toString('hex');
  return { id, key: `tk_${id}_${randomBytes(32).toString('base64url')}` };
}

/** The id in a key; undefined if it has none, as ADMIN_API_KEY. */
export const idIn = (key: string): string | undefined => /^tk_([0-9a-f]{20})_/.exec(key)?.[1];

/**
 * The stored part of a key. SHA-256 is enough for random secrets (and costs 3 µs where scrypt costs 49 ms); hashes have one
 * length, so that their comparison takes the same time for every guess.
 */
export const hashOfKey = (key: string): Buffer => hash('sha256', key, 'buffer');

const minCharacters = 16;

/**
 * The operator's key of this server: ADMIN_API_KEY, else the one in `admin.key` of the data directory, which is
 * made at the first start. Tools, and pages of other ports, stand on loopback as well: being there proves nothing.
 */
export class AdminKey {
  /** Undefined if there is none, so that no API key is required. */
  readonly hash: Buffer | undefined;
  /** The file with the key; undefined if the key was configured, or if there is none. */
  readonly file: string | undefined;

  /** @throws KeyFileError if the file holds no key, or none can be made */
  constructor({ auth, server }: Pick<AppConfig, 'auth' | 'server'>) {
    // Off loopback a server without ADMIN_API_KEY does not start.
    const needsFile = auth.mode !== 'off' && auth.adminKey === undefined && server.loopback;
    this.file = needsFile ? auth.adminKeyFile : undefined;
    const key = this.file === undefined ? auth.adminKey : keyIn(this.file);
    this.hash = key === undefined ? undefined : hashOfKey(key);
  }
}

function keyIn(file: string): string {
  const key = readKeyFile(file) ?? made(file);
  const usable = key?.trim();
  if (usable && usable.length >= minCharacters && !/\s/.test(usable)) return usable;
  throw new KeyFileError(
    `The key file ${file} holds no key of ${minCharacters} characters or more: put it back, or remove it and another is made`,
  );
}

function made(file: string): string | undefined {
  try {
    makeKeyFile(file, `${randomBytes(32).toString('base64url')}\n`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new KeyFileError(`${file} cannot be written (${code}): set ADMIN_API_KEY, or TOOLKEEPER_DATA_DIR`);
  }
  return readKeyFile(file);
}

/**
 * Registering a tool is running code: a server that others can reach does not start without a key by accident.
 * @throws ConfigurationError naming both ways out
 */
export function assertSafeToExpose({ auth, server }: Pick<AppConfig, 'auth' | 'server'>): void {
  if (server.loopback || auth.adminKey || auth.mode === 'off') return;
  throw new ConfigurationError(
    `HOST=${server.host} can be reached from other machines, and anybody who reaches it may run code: ` +
      'set ADMIN_API_KEY (16 characters or more), or AUTH_MODE=off if something in front of the server asks for a key.',
  );
}

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
  /** Finds the tools of a virtual MCP server by its name. Set by the room that keeps them. */
  virtualServer: (name: string) => ToolChoice | undefined = () => undefined;
  /** Emits the id of each key that became invalid or whose projects, tools or MCP servers changed. */
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
    this.keys = new Map(stored.map((key) => [key.id, knownKey(key, (name) => this.virtualServer(name))]));
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
  const limits = ({ principal: { projects, tools, mcpServers } }: KnownKey): string =>
    JSON.stringify([projects, tools, mcpServers]);
  return after !== undefined && limits(before) === limits(after);
}

function knownKey(
  { id, hash, owner, scopes: given, projects, tools, mcpServers, rate, expiresAt }: StoredKey,
  serverNamed: KnownKeys['virtualServer'],
): KnownKey {
  const has = (tool: string): boolean => mcpServers?.some((name) => serverNamed(name)?.has(tool)) ?? false;
  const principal: Principal = {
    userId: owner,
    keyId: id,
    scopes: allScopesOf(given),
    ...(projects && { projects }),
    ...(tools && { tools }),
    ...(mcpServers && { mcpServers, choice: { has } }),
    ...(rate && { rate }),
  };
  return { hash, principal, expiresAt: expiresAt?.getTime() ?? Infinity };
}
