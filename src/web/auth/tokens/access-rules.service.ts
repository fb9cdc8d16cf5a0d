import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem } from '../../../base/common/errors.js';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { StartError } from '../../../base/common/start-error.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { TableFollower } from '../../../base/database/table-follower.js';
import { retryAtStart } from '../../../base/database/transient-error.js';
import { DtoPipe } from '../../rest/dto.pipe.js';
import { refuseVoidLimits } from '../keys/keys.service.js';
import { AccessRules, type CheckedTokenView, roles } from './access-rules.dto.js';
import { AccessTokens } from './access-tokens.js';

const selectRules = `SELECT rules, md5(rules::text) AS revision
  FROM (SELECT coalesce(jsonb_agg(rule ORDER BY position), '[]') AS rules FROM access_rules) AS stored`;

/** Stores the access rules. The rules in memory follow the table, which any replica may change. */
@Injectable()
export class AccessRulesService implements OnModuleInit, OnApplicationBootstrap {
  private readonly oneAtATime = new KeyedMutex();
  /** JSON of the rules that are in memory. */
  private knownJson: string | undefined;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly dataSource: DataSource,
    private readonly follower: TableFollower,
    private readonly tokens: AccessTokens,
  ) {}

  /** The stored rules with their revision. */
  async list(): Promise<AccessRules> {
    const [stored] = await this.dataSource.query<[AccessRules]>(selectRules);
    return stored;
  }

  /** Replaces all rules. @throws Problem `invalid_request` for limits without effect; `conflict` for an old `revision` */
  async replace(rules: AccessRules): Promise<AccessRules> {
    await this.store(rules, { replaces: true });
    await this.reload();
    return this.list();
  }

  /** Checks a token and shows its rights. @throws Problem `conflict` if the server accepts no tokens */
  async test(token: string): Promise<CheckedTokenView> {
    if (!this.tokens.isOn)
      throw new Problem('conflict', 'This server takes no access tokens: set OIDC_ISSUERS');
    const { checks, rules, caller } = await this.tokens.check(token);
    return { checks, rules, keyId: caller?.keyId ?? null, scopes: [...(caller?.scopes ?? [])] };
  }

  /** Loads the rules before the server listens. @throws StartError if a rule of OIDC_ISSUERS is invalid */
  async onModuleInit(): Promise<void> {
    if (!this.tokens.isOn) return;
    const given = this.config.auth.issuers.flatMap(({ issuer, rules = [] }) =>
      rules.map((rule) => ({ ...rule, issuer })),
    );
    try {
      const rules = await new DtoPipe().read(AccessRules, { rules: given });
      await retryAtStart(() => this.store(rules, { replaces: false }));
    } catch (error) {
      throw error instanceof Problem ? new StartError(`OIDC_ISSUERS: ${error.detail}`) : error;
    }
    await retryAtStart(() => this.reload());
  }

  onApplicationBootstrap(): void {
    if (this.tokens.isOn)
      this.follower.follow({ table: 'access_rules', what: 'the access rules' }, () => this.reload());
  }

  /** Stores rules. @param replaces whether existing rules are replaced; otherwise they stay and the new ones are dropped */
  private async store(
    { rules, revision }: AccessRules,
    { replaces }: { readonly replaces: boolean },
  ): Promise<void> {
    for (const rule of rules) refuseVoidLimits(roles[rule.role], rule);
    await this.dataSource.transaction(async (manager) => {
      await manager.query('LOCK TABLE access_rules IN EXCLUSIVE MODE');
      const [stored] = await manager.query<[AccessRules]>(selectRules);
      if (revision !== undefined && revision !== stored.revision)
        throw new Problem(
          'conflict',
          `The rules have changed meanwhile: their revision is ${stored.revision}`,
        );
      if (replaces) await manager.query('DELETE FROM access_rules');
      await manager.query(
        `INSERT INTO access_rules (position, rule)
         SELECT position, rule FROM jsonb_array_elements($1) WITH ORDINALITY AS r (rule, position)
         WHERE NOT EXISTS (SELECT FROM access_rules)`,
        [JSON.stringify(rules)],
      );
    });
  }

  /** Copies the table into memory, one reload at a time, so that an older answer cannot restore a rule. */
  private reload(): Promise<void> {
    return this.oneAtATime.run('reload', async () => {
      const { rules } = await this.list();
      const json = JSON.stringify(rules);
      if (json === this.knownJson) return;
      this.knownJson = json;
      this.tokens.replaceRules(rules);
    });
  }
}
