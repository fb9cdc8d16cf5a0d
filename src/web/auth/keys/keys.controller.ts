import { Body, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ApiProblems } from '../../rest/api-problems.decorator.js';
import type { Page } from '../../rest/page.js';
import { PageQuery } from '../../rest/dto.js';
import { ReasonQuery } from '../audit/audit.dto.js';
import { Audited } from '../audit/audit.interceptor.js';
import { CurrentPrincipal, type Principal } from '../principal.decorator.js';
import { ApiRoutes } from '../scopes.decorator.js';
import { CreateKeyBody, KeyPageView, KeyParams, KeyView, NewKeyView, UpdateKeyBody } from './keys.dto.js';
import { KeysService } from './keys.service.js';

@ApiRoutes('api/v1/keys', 'keys', 'admin')
@Audited('id')
export class KeysController {
  constructor(private readonly service: KeysService) {}

  @Post()
  @ApiOperation({
    summary: 'Make an API key',
    description:
      'The answer holds the key, this once. A list of tools takes no scope that registers tools, and a list of projects none that reads or changes what belongs to all of them.',
  })
  @ApiCreatedResponse({ type: NewKeyView })
  @ApiProblems('conflict')
  createKey(@Body() body: CreateKeyBody, @CurrentPrincipal() { userId }: Principal): Promise<NewKeyView> {
    return this.service.create(body, userId);
  }

  @Get()
  @ApiOperation({
    summary: 'List the API keys, newest first',
    description: 'Also those that expired or were revoked. `ADMIN_API_KEY` is not among them.',
  })
  @ApiOkResponse({ type: KeyPageView })
  listKeys(@Query() query: PageQuery): Promise<Page<KeyView>> {
    return this.service.list(query);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Show an API key', description: 'Without its secret, which is not stored.' })
  @ApiOkResponse({ type: KeyView })
  @ApiProblems('not_found')
  getKey(@Param() { id }: KeyParams): Promise<KeyView> {
    return this.service.get(id);
  }

  @Patch(':id')
  @ApiOperation({
    summary: "Change an API key's name, limits or expiry",
    description: 'Its scopes stay: other scopes are another key. Every replica obeys within a second.',
  })
  @ApiOkResponse({ type: KeyView })
  @ApiProblems('not_found', 'conflict')
  updateKey(@Param() { id }: KeyParams, @Body() body: UpdateKeyBody): Promise<KeyView> {
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
    @Param() { id }: KeyParams,
    @Query() _why: ReasonQuery,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<void> {
    return this.service.revoke(id, userId);
  }
}
