import { Inject, Injectable } from '@nestjs/common';
import { invalidRequest, Problem } from '../../common/errors.js';
import { keyIn, type Page, pageFrom } from '../../rest/page.js';
import type { PageQuery } from '../../rest/dto.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import type { Scope } from '../../tool-contract/principal.js';
import { hashOfKey, newKey } from '../api-key.js';
import { allScopesOf } from '../known-keys.js';
import { KeyFollower } from './key-follower.js';
import { type KeyChanges, KeysRepository, type StoredKey } from './keys.repository.js';
import type { CreateKeyBody, KeyView, NewKeyView, UpdateKeyBody } from './keys.dto.js';

/** Scopes over what belongs to no project: a list of projects would hold nobody who has one of them. */
const ofTheWholeServer: readonly Scope[] = ['metrics:read', 'tools:admin', 'admin'];

/** Makes, changes and revokes API keys. */
@Injectable()
export class KeysService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly repository: KeysRepository,
    private readonly follower: KeyFollower,
  ) {}

  /** @throws Problem `invalid_request` where a limit would not hold, `conflict` where nobody is asked for a key */
  async create(body: CreateKeyBody, by: string): Promise<NewKeyView> {
    if (this.config.auth.mode === 'off')
      throw new Problem('conflict', 'With AUTH_MODE=off nobody is asked for a key: there is nothing to open');
    refuseIdleLimits(body.scopes, body);
    const { id, key } = newKey();
    const { name, owner = name, scopes, projects = null, tools = null, rate = null } = body;
    const expiresAt = body.expiresAt ? new Date(body.expiresAt) : null;
    const limits = { projects, tools, rate, expiresAt };
    await this.repository.insert({ id, hash: hashOfKey(key), name, owner, scopes, ...limits, createdBy: by });
    await this.follower.look();
    return { ...(await this.get(id)), key };
  }

  async list({ limit, cursor }: PageQuery): Promise<Page<KeyView>> {
    await this.follower.writeUses();
    const rows = await this.repository.page(limit + 1, keyIn(cursor));
    return pageFrom(rows.map(viewOf), ({ id }) => id, limit);
  }

  /** @throws Problem `not_found` */
  async get(id: string): Promise<KeyView> {
    return viewOf(await this.stored(id));
  }

  /** @throws Problem `not_found`, `conflict` for a key that was revoked, `invalid_request` where a limit would not hold */
  async update(id: string, body: UpdateKeyBody): Promise<KeyView> {
    const key = await this.stored(id);
    if (key.revokedAt) throw new Problem('conflict', `The key ${id} is revoked: it stays as it was`);
    refuseIdleLimits(key.scopes, body);
    const { expiresAt, ...changes } = body;
    const moment = expiresAt && new Date(expiresAt);
    const given: KeyChanges = { ...changes, ...(moment !== undefined && { expiresAt: moment || null }) };
    await this.repository.update(id, given);
    await this.follower.look();
    return this.get(id);
  }

  /** Its next request is refused, here at once and by other replicas within a second. @throws Problem `not_found` */
  async revoke(id: string, by: string): Promise<void> {
    await this.stored(id);
    await this.repository.revoke(id, by);
    await this.follower.look();
  }

  private async stored(id: string): Promise<StoredKey> {
    const key = await this.repository.find(id);
    if (!key) throw new Problem('not_found', `There is no key ${id}`);
    return key;
  }
}

/** Who may register a tool may run anything, and who reads metrics reads those of all: a limit must hold, or not be there. */
function refuseIdleLimits(scopes: readonly Scope[], { projects, tools }: UpdateKeyBody): void {
  const all = allScopesOf(scopes);
  const wide = ofTheWholeServer.filter((scope) => all.has(scope)).join(', ');
  const detail = (what: string): string =>
    `would not hold a key that has ${what}: leave out the one or the other`;
  if (tools && all.has('tools:admin'))
    throw invalidRequest({ pointer: '/tools', detail: detail('tools:admin') });
  if (projects && wide) throw invalidRequest({ pointer: '/projects', detail: detail(wide) });
}

const iso = (moment: Date | null): string | null => moment?.toISOString() ?? null;

function viewOf({ hash: _, createdAt, expiresAt, revokedAt, lastUsedAt, ...key }: StoredKey): KeyView {
  const isOver = expiresAt !== null && expiresAt.getTime() <= Date.now();
  return {
    ...key,
    status: revokedAt ? 'revoked' : isOver ? 'expired' : 'active',
    createdAt: createdAt.toISOString(),
    expiresAt: iso(expiresAt),
    lastUsedAt: iso(lastUsedAt),
    revokedAt: iso(revokedAt),
  };
}
