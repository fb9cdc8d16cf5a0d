import { Body, Delete, Get, HttpCode, Module, Param, Patch, Post, Query } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { CountersModule } from '../../base/counters/counters.module.js';
import { AccessPolicy } from './access-policy.js';
import { CallRates } from './call-rates.js';
import { AdminKey, KnownKeys } from './known-keys.js';
import { KnownSessions } from './known-sessions.js';
import { Sessions, SignInLinks } from './sessions.js';
import { ProviderClient } from './session/provider-client.js';
import { ProviderSessions } from './session/provider-sessions.js';
import { ProvidersController } from './session/providers.controller.js';
import { SessionController } from './session/session.controller.js';
import { KeysRepository } from './keys/keys.repository.js';
import { KeysService } from './keys/keys.service.js';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import type { Page } from '../rest/page.js';
import { PageQuery } from '../rest/dto.js';
import { ReasonQuery } from './audit/audit.dto.js';
import { Audited } from './audit/audit.interceptor.js';
import { CurrentPrincipal, type Principal } from './principal.decorator.js';
import { ApiRoutes } from './scopes.decorator.js';
import * as dto from './keys/keys.dto.js';
import { AccessRulesController } from './tokens/access-rules.controller.js';
import { AccessRulesService } from './tokens/access-rules.service.js';
import { AccessTokens } from './tokens/access-tokens.js';
import { FacadeController } from './tokens/facade.controller.js';
import { ProtectedResourceController } from './tokens/protected-resource.js';

@ApiRoutes('api/v1/keys', 'keys', 'admin')
@Audited('id', async (modules, { id = '' }) => {
  const { lastUsedAt: _, ...key } = await modules.get(KeysService, { strict: false }).get(id);
  return key;
})
export class KeysController {
  constructor(private readonly service: KeysService) {}

  @Post()
  @ApiOperation({
    summary: 'Make an API key',
    description:
      'The answer holds the key, this once. A list of tools takes no scope that registers tools, and a list of projects none that reads or changes what belongs to all of them.',
  })
  @ApiCreatedResponse({ type: dto.NewKeyView })
  @ApiProblems('conflict')
  createKey(
    @Body() body: dto.CreateKeyBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<dto.NewKeyView> {
    return this.service.create(body, userId);
  }

  @Get()
  @ApiOperation({
    summary: 'List the API keys, newest first',
    description: 'Also those that expired or were revoked. `ADMIN_API_KEY` is not among them.',
  })
  @ApiOkResponse({ type: dto.KeyPageView })
  listKeys(@Query() query: PageQuery): Promise<Page<dto.KeyView>> {
    return this.service.list(query);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Show an API key', description: 'Without its secret, which is not stored.' })
  @ApiOkResponse({ type: dto.KeyView })
  @ApiProblems('not_found')
  getKey(@Param() { id }: dto.KeyParams): Promise<dto.KeyView> {
    return this.service.get(id);
  }

  @Patch(':id')
  @ApiOperation({
    summary: "Change an API key's name, limits or expiry",
    description: 'Its scopes stay: other scopes are another key. Every replica obeys within a second.',
  })
  @ApiOkResponse({ type: dto.KeyView })
  @ApiProblems('not_found', 'conflict')
  updateKey(@Param() { id }: dto.KeyParams, @Body() body: dto.UpdateKeyBody): Promise<dto.KeyView> {
    return this.service.update(id, body);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Revoke an API key',
    description: 'For good. Every replica refuses it within a second, and ends the streams that it opened.',
  })
  @ApiNoContentResponse({ description: 'It opens nothing any more' })
  @ApiProblems('not_found')
  revokeKey(
    @Param() { id }: dto.KeyParams,
    @Query() _why: ReasonQuery,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<void> {
    return this.service.revoke(id, userId);
  }
}

/** Authentication and authorization, with the keys in memory. KeysModule loads them from the database. */
@Module({
  imports: [CountersModule],
  providers: [
    AccessPolicy,
    Sessions,
    SignInLinks,
    { provide: AdminKey, inject: [APP_CONFIG], useFactory: (config: AppConfig) => new AdminKey(config) },
    KnownKeys,
    KnownSessions,
    AccessTokens,
    CallRates,
  ],
  exports: [
    AccessPolicy,
    AccessTokens,
    KnownKeys,
    KnownSessions,
    CallRates,
    SignInLinks,
    Sessions,
    CountersModule,
  ],
})
export class AuthModule {}

/** Keys in the database, and sessions of browsers, over REST. */
@Module({
  // TypeORM closes its connections after the modules that import it, so that last uses of keys can be stored.
  imports: [TypeOrmModule.forFeature([]), AuthModule],
  controllers: [
    KeysController,
    SessionController,
    ProvidersController,
    AccessRulesController,
    ProtectedResourceController,
    FacadeController,
  ],
  providers: [KeysRepository, KeysService, AccessRulesService, ProviderClient, ProviderSessions],
})
export class KeysModule {}
