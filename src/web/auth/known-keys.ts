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

/** The key of a request: `Authorization: Bearer <key>`, or else `x-api-key`. Any text after `Bearer` counts as a key. */
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

/** The id in a key; undefined if it has none, like ADMIN_API_KEY. */
export const idIn = (key: string): string | undefined => /^tk_([0-9a-f]{20})_/.exec(key)?.[1];

/**
 * The stored hash of a key. SHA-256 is enough for random secrets, and takes 3 µs instead of the 49 ms of scrypt. All hashes
 * have the same length, so that a comparison takes the same time for each guess.
 */
export const hashOfKey = (key: string): Buffer => hash('sha256', key, 'buffer');

/** Min length of the operator's key. */
const minCharacters = 16;

/**
 * The operator's key: ADMIN_API_KEY, or else the one in `admin.key` of the data directory, which is made at the first start.
 * It is also needed on loopback, because tools and pages of other ports can connect from there.
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
    const key = this.file === undefined ? auth.adminKey : keyOfFile(this.file);
    this.hash = key === undefined ? undefined : hashOfKey(key);
  }
}

/** The key in a file, which is made if there is none. @throws KeyFileError */
function keyOfFile(file: string): string {
  const key = readKeyFile(file) ?? makeKey(file);
  const trimmed = key?.trim() ?? '';
  if (trimmed.length >= minCharacters && !/\s/.test(trimmed)) return trimmed;
  throw new KeyFileError(
    `The key file ${file} holds no key of ${minCharacters} characters or more: put it back, or remove it and another is made`,
  );
}

/** Makes the file with a new key. @returns the file's text, which another server may have written @throws KeyFileError */
function makeKey(file: string): string | undefined {
  try {
    makeKeyFile(file, `${randomBytes(32).toString('base64url')}\n`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new KeyFileError(`${file} cannot be written (${code}): set ADMIN_API_KEY, or TOOLKEEPER_DATA_DIR`);
  }
  return readKeyFile(file);
}

/**
 * Refuses to start a server that other machines can reach without a key, because whoever registers a tool runs code.
 * @throws ConfigurationError that names both solutions
 */
export function assertSafeToExpose({ auth, server }: Pick<AppConfig, 'auth' | 'server'>): void {
  if (server.loopback || auth.adminKey || auth.mode === 'off') return;
  throw new ConfigurationError(
    `HOST=${server.host} can be reached from other machines, and anybody who reaches it may run code: ` +
      'set ADMIN_API_KEY (16 characters or more), or AUTH_MODE=off if something in front of the server asks for a key.',
  );
}

/** A valid key in memory. */
interface KnownKey {
  readonly hash: Buffer;
  readonly principal: Principal;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The id of the operator's key, which no table holds. */
export const adminKeyId = 'admin';

/** Scopes that include others. */
const includedScopes: Partial<Record<Scope, readonly Scope[]>> = {
  admin: scopes,
  // Callers who register tools also try them and read their figures.
  'tools:admin': ['tools:call', 'metrics:read'],
};

/** Scopes with those that they include. */
export const allScopesOf = (given: readonly Scope[]): ReadonlySet<Scope> =>
  new Set(given.flatMap((scope) => [scope, ...(includedScopes[scope] ?? [])]));

/** All valid keys, in memory, so that no request asks the database about its key. */
@Injectable()
export class KnownKeys {
  /** All keys except the operator's, by their ids. */
  private keys: ReadonlyMap<string, KnownKey> = new Map();
  /** The operator's key. */
  private readonly admin: KnownKey;
  /** Last use of each key since the last `takeLastUses`, in milliseconds since the epoch. */
  private lastUses = new Map<string, number>();
  private readonly logger = new Logger(KnownKeys.name);
  /** Finds the tools of a virtual MCP server by its name. Set by the module of these servers. */
  findVirtualServer: (name: string) => ToolChoice | undefined = () => undefined;
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
   * The principal of a key; undefined for an invalid one. Takes the same time for known and unknown ids: a key with an unknown
   * id is compared with the operator's.
   */
  find(presented: string | undefined): Principal | undefined {
    if (presented === undefined) return undefined;
    const id = idIn(presented) ?? '';
    const key = this.keys.get(id) ?? this.admin;
    return timingSafeEqual(hashOfKey(presented), key.hash) ? this.noteUse(key) : undefined;
  }

  /**
   * The principal of a key by its id, which is no proof: the key itself must have been checked before.
   * @returns undefined for a key that is unknown, revoked or expired
   */
  withId(id: string): Principal | undefined {
    const key = id === adminKeyId ? this.admin : this.keys.get(id);
    return key && this.noteUse(key);
  }

  /** Replaces all keys except the operator's. */
  replace(stored: readonly StoredKey[]): void {
    const before = this.keys;
    const findServer = (name: string): ToolChoice | undefined => this.findVirtualServer(name);
    this.keys = new Map(stored.map((key) => [key.id, knownKeyOf(key, findServer)]));
    for (const [id, key] of before) if (!hasSameLimits(key, this.keys.get(id))) this.ended.emit(id);
  }

  forgetExpired(now = this.clock.now()): void {
    const expired = [...this.keys].filter(([, { expiresAt }]) => expiresAt <= now);
    if (expired.length === 0) return;
    const valid = new Map(this.keys);
    for (const [id] of expired) valid.delete(id);
    this.keys = valid;
    for (const [id] of expired) this.ended.emit(id);
  }

  /** Last use, in milliseconds since the epoch, of each key that was used since the last call of this method. */
  takeLastUses(): ReadonlyMap<string, number> {
    const { lastUses } = this;
    this.lastUses = new Map();
    return lastUses;
  }

  /** Notes the use of a key. @returns its principal; undefined if the key has expired */
  private noteUse({ principal, expiresAt }: KnownKey): Principal | undefined {
    const now = this.clock.now();
    if (expiresAt <= now) return undefined;
    const { keyId } = principal;
    if (keyId !== undefined && keyId !== adminKeyId) this.lastUses.set(keyId, now);
    return principal;
  }
}

/** Whether a key is still valid for the same projects, tools and servers. Its scopes never change. */
function hasSameLimits(before: KnownKey, after: KnownKey | undefined): boolean {
  const limits = ({ principal: { projects, tools, mcpServers } }: KnownKey): string =>
    JSON.stringify([projects, tools, mcpServers]);
  return after !== undefined && limits(before) === limits(after);
}

/** A stored key as requests need it. @param findServer finds the tools of a virtual MCP server by its name */
function knownKeyOf(
  { id, hash, owner, scopes: given, projects, tools, mcpServers, rate, expiresAt }: StoredKey,
  findServer: KnownKeys['findVirtualServer'],
): KnownKey {
  const has = (tool: string): boolean => mcpServers?.some((name) => findServer(name)?.has(tool)) ?? false;
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
