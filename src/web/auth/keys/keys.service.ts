import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { TableFollower } from '../../../base/database/table-follower.js';
import { retryAtStart } from '../../../base/database/transient-error.js';
import { invalidRequest, Problem } from '../../../base/common/errors.js';
import { keyIn, type Page, pageFrom } from '../../rest/page.js';
import type { PageQuery } from '../../rest/dto.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import type { Scope } from '../../contract/principal.js';
import { allScopesOf, hashOfKey, KnownKeys, newKey } from '../known-keys.js';
import { type KeyChanges, KeysRepository } from './keys.repository.js';
import type { CreateKeyBody, KeyView, NewKeyView, StoredKey, UpdateKeyBody } from './keys.dto.js';

/** Scopes that are not limited by projects, so that a key with one cannot have a list of projects. */
const serverWideScopes: readonly Scope[] = ['audit:read', 'tools:admin', 'admin'];

/** Interval at which last uses are stored, instead of a statement per request. */
const usesIntervalMs = 10_000;

/**
 * Makes, changes and revokes API keys. The keys in memory follow the table, which any replica may change; their last uses are
 * stored in it. While the database is unavailable, known keys stay valid until they expire.
 */
@Injectable()
export class KeysService implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(KeysService.name);
  /** Lets one reload run at a time, so that an older answer cannot restore a revoked key. */
  private readonly oneAtATime = new KeyedMutex();
  private readonly uses: IntervalLoop;
  /** Revision of the table that is in memory. */
  private revision: string | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly follower: TableFollower,
    private readonly repository: KeysRepository,
    private readonly known: KnownKeys,
  ) {
    this.uses = new IntervalLoop(
      () => this.writeUses(),
      usesIntervalMs,
      (error) => this.logger.warn(error, 'When keys were used last could not be written'),
    );
  }

  /** Makes a key. @throws Problem `invalid_request` for a limit without effect, `conflict` if keys are off */
  async create(body: CreateKeyBody, by: string): Promise<NewKeyView> {
    if (this.config.auth.mode === 'off')
      throw new Problem('conflict', 'With AUTH_MODE=off nobody is asked for a key: there is nothing to open');
    refuseVoidLimits(body.scopes, body);
    const { id, key } = newKey();
    const { name, owner = name, scopes } = body;
    const { projects = null, tools = null, mcpServers = null, rate = null } = body;
    const expiresAt = body.expiresAt ? new Date(body.expiresAt) : null;
    const limits = { projects, tools, mcpServers, rate, expiresAt };
    await this.repository.insert({ id, hash: hashOfKey(key), name, owner, scopes, ...limits, createdBy: by });
    await this.reload();
    return { ...(await this.get(id)), key };
  }

  /** A page of all keys, newest first. @throws Problem `invalid_request` for an invalid cursor */
  async list({ limit, cursor }: PageQuery): Promise<Page<KeyView>> {
    await this.writeUses();
    const rows = await this.repository.page(limit + 1, keyIn(cursor));
    const now = this.known.clock.now();
    const keys = rows.map((key) => viewOf(key, now));
    return pageFrom(keys, ({ id }) => id, limit);
  }

  /** @throws Problem `not_found` */
  async get(id: string): Promise<KeyView> {
    return viewOf(await this.stored(id), this.known.clock.now());
  }

  /** Changes a key. @throws Problem `not_found`, `conflict` for a revoked key, `invalid_request` for a limit without effect */
  async update(id: string, body: UpdateKeyBody): Promise<KeyView> {
    const key = await this.stored(id);
    if (key.revokedAt) throw new Problem('conflict', `The key ${id} is revoked: it stays as it was`);
    refuseVoidLimits(key.scopes, body);
    const { expiresAt, ...others } = body;
    const expiry = expiresAt ? new Date(expiresAt) : null;
    const changes: KeyChanges = { ...others, ...(expiresAt !== undefined && { expiresAt: expiry }) };
    await this.repository.update(id, changes);
    await this.reload();
    return this.get(id);
  }

  /** Revokes a key at all replicas. @throws Problem `not_found` */
  async revoke(id: string, by: string): Promise<void> {
    await this.stored(id);
    await this.repository.revoke(id, by);
    await this.reload();
  }

  /** Loads the keys before the server listens. */
  async onModuleInit(): Promise<void> {
    await retryAtStart(() => this.reload());
  }

  onApplicationBootstrap(): void {
    this.follower.follow({ table: 'api_keys', what: 'the API keys' }, () => this.reload());
    this.uses.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.uses.stop();
    await this.writeUses().catch(() => undefined);
  }

  /** Copies changes of the table into memory. */
  private reload(): Promise<void> {
    return this.oneAtATime.run('reload', async () => {
      if ((await this.repository.revision()) !== this.revision) {
        const { revision, keys } = await this.repository.valid();
        this.known.replace(keys);
        this.revision = revision;
      }
      this.known.forgetExpired();
    });
  }

  /** Stores the last uses since the previous call. */
  private async writeUses(): Promise<void> {
    const used = this.known.takeLastUses();
    if (used.size > 0) await this.repository.updateLastUses(used);
  }

  /** The row of a key. @throws Problem `not_found` */
  private async stored(id: string): Promise<StoredKey> {
    const key = await this.repository.find(id);
    if (!key) throw new Problem('not_found', `There is no key ${id}`);
    return key;
  }
}

/** @throws Problem `invalid_request` for a limit without effect: callers who may register tools can run any code */
export function refuseVoidLimits(scopes: readonly Scope[], limits: UpdateKeyBody): void {
  const all = allScopesOf(scopes);
  const refuse = (limit: string, heldScopes: string): never => {
    const detail = `would not hold a key that has ${heldScopes}: leave out the one or the other`;
    throw invalidRequest({ pointer: `/${limit}`, detail });
  };
  if (all.has('tools:admin')) {
    if (limits.tools) refuse('tools', 'tools:admin');
    if (limits.mcpServers) refuse('mcpServers', 'tools:admin');
  }
  const serverWide = serverWideScopes.filter((scope) => all.has(scope)).join(', ');
  if (limits.projects && serverWide) refuse('projects', serverWide);
}

/** A key as callers see it. @param now milliseconds since the epoch */
function viewOf({ hash: _, ...key }: StoredKey, now: number): KeyView {
  if (key.revokedAt) return { ...key, status: 'revoked' };
  const isExpired = key.expiresAt !== null && key.expiresAt.getTime() <= now;
  return { ...key, status: isExpired ? 'expired' : 'active' };
}
