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

/** Scopes over what belongs to no project: a list of projects would hold nobody who has one of them. */
const ofTheWholeServer: readonly Scope[] = ['audit:read', 'tools:admin', 'admin'];

/** When a key was used last is worth no statement for each request. */
const usesEveryMs = 10_000;

/**
 * Makes, changes and revokes API keys. The keys in memory follow the table, whichever replica changes it, and the table
 * learns when keys were used. While the database is away the keys that were good stay so, until their own time is over.
 */
@Injectable()
export class KeysService implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(KeysService.name);
  /** One look after another: an older answer must not bring a revoked key back. */
  private readonly oneAtATime = new KeyedMutex();
  private readonly uses: IntervalLoop;
  private revision: string | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly follower: TableFollower,
    private readonly repository: KeysRepository,
    private readonly known: KnownKeys,
  ) {
    this.uses = new IntervalLoop(
      () => this.writeUses(),
      usesEveryMs,
      (error) => this.logger.warn(error, 'When keys were used last could not be written'),
    );
  }

  /** @throws Problem `invalid_request` if a limit would not hold, `conflict` where nobody is asked for a key */
  async create(body: CreateKeyBody, by: string): Promise<NewKeyView> {
    if (this.config.auth.mode === 'off')
      throw new Problem('conflict', 'With AUTH_MODE=off nobody is asked for a key: there is nothing to open');
    refuseIdleLimits(body.scopes, body);
    const { id, key } = newKey();
    const { name, owner = name, scopes, projects = null, tools = null, rate = null } = body;
    const { mcpServers = null } = body;
    const expiresAt = body.expiresAt ? new Date(body.expiresAt) : null;
    const limits = { projects, tools, mcpServers, rate, expiresAt };
    await this.repository.insert({ id, hash: hashOfKey(key), name, owner, scopes, ...limits, createdBy: by });
    await this.look();
    return { ...(await this.get(id)), key };
  }

  async list({ limit, cursor }: PageQuery): Promise<Page<KeyView>> {
    await this.writeUses();
    const rows = await this.repository.page(limit + 1, keyIn(cursor));
    const now = this.known.clock.now();
    return pageFrom(
      rows.map((key) => viewOf(key, now)),
      ({ id }) => id,
      limit,
    );
  }

  /** @throws Problem `not_found` */
  async get(id: string): Promise<KeyView> {
    return viewOf(await this.stored(id), this.known.clock.now());
  }

  /** @throws Problem `not_found`, `conflict` for a key that was revoked, `invalid_request` if a limit would not hold */
  async update(id: string, body: UpdateKeyBody): Promise<KeyView> {
    const key = await this.stored(id);
    if (key.revokedAt) throw new Problem('conflict', `The key ${id} is revoked: it stays as it was`);
    refuseIdleLimits(key.scopes, body);
    const { expiresAt, ...changes } = body;
    const moment = expiresAt && new Date(expiresAt);
    const given: KeyChanges = { ...changes, ...(moment !== undefined && { expiresAt: moment || null }) };
    await this.repository.update(id, given);
    await this.look();
    return this.get(id);
  }

  /** Its next request is refused. @throws Problem `not_found` */
  async revoke(id: string, by: string): Promise<void> {
    await this.stored(id);
    await this.repository.revoke(id, by);
    await this.look();
  }

  /** A server that listens knows its keys. */
  async onModuleInit(): Promise<void> {
    await retryAtStart(() => this.look());
  }

  onApplicationBootstrap(): void {
    this.follower.follow({ table: 'api_keys', what: 'the API keys' }, () => this.look());
    this.uses.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.uses.stop();
    await this.writeUses().catch(() => undefined);
  }

  /** Brings changes of the table into memory. */
  private look(): Promise<void> {
    return this.oneAtATime.run('look', async () => {
      if ((await this.repository.revision()) !== this.revision) {
        const { revision, keys } = await this.repository.good();
        this.known.replace(keys);
        this.revision = revision;
      }
      this.known.forgetExpired();
    });
  }

  private async writeUses(): Promise<void> {
    const used = this.known.takeUsed();
    if (used.size > 0) await this.repository.used(used);
  }

  private async stored(id: string): Promise<StoredKey> {
    const key = await this.repository.find(id);
    if (!key) throw new Problem('not_found', `There is no key ${id}`);
    return key;
  }
}

/** Refuses limits that would not hold: who registers a tool may run anything. */
export function refuseIdleLimits(
  scopes: readonly Scope[],
  { projects, tools, mcpServers }: UpdateKeyBody,
): void {
  const all = allScopesOf(scopes);
  const wide = ofTheWholeServer.filter((scope) => all.has(scope)).join(', ');
  const detail = (what: string): string =>
    `would not hold a key that has ${what}: leave out the one or the other`;
  const limit = tools ? 'tools' : mcpServers && 'mcpServers';
  if (limit && all.has('tools:admin'))
    throw invalidRequest({ pointer: `/${limit}`, detail: detail('tools:admin') });
  if (projects && wide) throw invalidRequest({ pointer: '/projects', detail: detail(wide) });
}

function viewOf({ hash: _, ...key }: StoredKey, now: number): KeyView {
  const { expiresAt, revokedAt } = key;
  const isOver = expiresAt !== null && expiresAt.getTime() <= now;
  return { ...key, status: revokedAt ? 'revoked' : isOver ? 'expired' : 'active' };
}
