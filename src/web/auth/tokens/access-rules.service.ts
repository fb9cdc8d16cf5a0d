import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Problem } from '../../../base/common/errors.js';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { StartError } from '../../../base/common/start-error.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { TableFollower } from '../../../base/database/table-follower.js';
import { retryAtStart } from '../../../base/database/transient-error.js';
import { DtoPipe } from '../../rest/dto.pipe.js';
import { refuseIdleLimits } from '../keys/keys.service.js';
import { type AccessRule, AccessRules, type CheckedTokenView, roles } from './access-rules.dto.js';
import { AccessTokens } from './access-tokens.js';

const columns = ['issuer', 'claim', 'value', 'role', 'projects', 'tools'] as const;

/** Stores the access rules. Those in memory follow the table, whichever replica changes it. */
@Injectable()
export class AccessRulesService implements OnModuleInit, OnApplicationBootstrap {
  private readonly oneAtATime = new KeyedMutex();
  private known: string | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly dataSource: DataSource,
    private readonly follower: TableFollower,
    private readonly tokens: AccessTokens,
  ) {}

  async list(): Promise<AccessRules> {
    const order = `SELECT ${columns.join(', ')} FROM access_rules ORDER BY position`;
    return { rules: await this.dataSource.query<AccessRule[]>(order) };
  }

  /** @throws Problem `invalid_request` for limits that would not hold */
  async replace({ rules }: AccessRules): Promise<AccessRules> {
    for (const rule of rules) refuseIdleLimits(roles[rule.role], rule);
    await this.dataSource.transaction(async (manager) => {
      await manager.query('LOCK TABLE access_rules IN EXCLUSIVE MODE');
      await manager.query('DELETE FROM access_rules');
      await insert(manager, rules);
    });
    await this.look();
    return this.list();
  }

  /** What a token opens, and why. */
  async test(token: string): Promise<CheckedTokenView> {
    if (!this.tokens.isOn)
      throw new Problem('conflict', 'This server takes no access tokens: set OIDC_ISSUERS');
    const { checks, rules = [], caller } = await this.tokens.check(token);
    return { checks, rules, keyId: caller?.keyId ?? null, scopes: [...(caller?.scopes ?? [])] };
  }

  /** A server that listens knows its rules. @throws StartError if a rule of OIDC_ISSUERS is not valid */
  async onModuleInit(): Promise<void> {
    if (!this.tokens.isOn) return;
    const rules = await this.configured();
    await retryAtStart(() => this.storeFirst(rules));
    await retryAtStart(() => this.look());
  }

  onApplicationBootstrap(): void {
    if (this.tokens.isOn)
      this.follower.follow({ table: 'access_rules', what: 'the access rules' }, () => this.look());
  }

  private async configured(): Promise<readonly AccessRule[]> {
    const given = this.config.auth.issuers.flatMap(({ issuer, rules = [] }) =>
      rules.map((rule) => ({ ...rule, issuer })),
    );
    try {
      const { rules } = await new DtoPipe().read(AccessRules, { rules: given });
      for (const rule of rules) refuseIdleLimits(roles[rule.role], rule);
      return rules;
    } catch (error) {
      throw new StartError(`OIDC_ISSUERS: ${(error as Problem).detail}`);
    }
  }

  /** The rules of the setting stand in for a table that is empty. */
  private async storeFirst(rules: readonly AccessRule[]): Promise<void> {
    if (rules.length === 0) return;
    await this.dataSource.transaction(async (manager) => {
      await manager.query('LOCK TABLE access_rules IN EXCLUSIVE MODE');
      const stored = await manager.query<object[]>('SELECT FROM access_rules LIMIT 1');
      if (stored.length === 0) await insert(manager, rules);
    });
  }

  /** One look after another: an older answer must not bring a rule back. */
  private look(): Promise<void> {
    return this.oneAtATime.run('look', async () => {
      const { rules } = await this.list();
      if (this.known === (this.known = JSON.stringify(rules))) return;
      this.tokens.replaceRules(rules);
    });
  }
}

async function insert(manager: EntityManager, rules: readonly AccessRule[]): Promise<void> {
  await manager.query(
    `INSERT INTO access_rules (position, ${columns.join(', ')})
     SELECT position, issuer, claim, value, role, projects, tools
     FROM jsonb_to_recordset($1) AS r (position integer, issuer text, claim text, value text, role text,
       projects text[], tools text[])`,
    [JSON.stringify(rules.map((rule, position) => ({ ...rule, position })))],
  );
}
