import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import type { PlaybookQuery } from '../playbook.types.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import {
  PlaybookAnswerBody,
  PlaybookBody,
  PlaybookCreatedBody,
  PlaybookPageBody,
  PlaybookStatusBody,
  PlaybookVersionsBody,
} from './playbooks.answers.js';
import {
  CreatePlaybookBody,
  DisablePlaybookBody,
  EnablePlaybookBody,
  ListPlaybooksQuery,
  PlaybookIdParams,
  PlaybookVersionParams,
  SearchPlaybooksQuery,
  VersionsQuery,
} from './playbooks.dto.js';
import { SearchQuery } from './search-query.decorator.js';

/** DD-STORAGE-008's routes, with its names. */
@ApiTags('playbooks')
@Controller('api/v1/playbooks')
export class PlaybooksController {
  constructor(private readonly catalogue: PlaybookCatalogueService) {}

  @Post()
  @ApiOperation({
    summary: 'Store a new version of a playbook; it becomes the latest',
    operationId: 'createPlaybook',
  })
  @ApiCreatedResponse({ type: PlaybookCreatedBody })
  @ApiProblems(
    'invalid_request',
    'database_unavailable',
    'unauthorized',
    'forbidden',
    'conflict',
    'payload_too_large',
  )
  create(@Body() body: CreatePlaybookBody): Promise<object> {
    return this.catalogue.create(body);
  }

  @Get('search')
  @ApiOperation({
    summary: 'Find playbooks for an incident',
    description:
      'Labels filter before ranking: a playbook that carries another value of an asked key is never shown.',
    operationId: 'searchPlaybooks',
  })
  @ApiQuery({ type: SearchPlaybooksQuery })
  @ApiQuery({
    name: 'label',
    required: false,
    description:
      'What the situation demands, as `label.<key>=<value>`, for example `label.environment=production`',
    style: 'form',
    explode: true,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    example: { 'label.environment': 'production' },
  })
  @ApiOkResponse({ type: PlaybookAnswerBody })
  @ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
  search(@SearchQuery() query: PlaybookQuery): Promise<object> {
    return this.catalogue.search(query);
  }

  @Get()
  @ApiOperation({ summary: 'List the latest version of each playbook', operationId: 'listPlaybooks' })
  @ApiOkResponse({ type: PlaybookPageBody })
  @ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
  list(@Query() { limit, cursor }: ListPlaybooksQuery): Promise<object> {
    return this.catalogue.list(limit, cursor);
  }

  @Get(':id/versions')
  @ApiOperation({
    summary: 'List the versions of a playbook, newest first',
    operationId: 'listPlaybookVersions',
  })
  @ApiOkResponse({ type: PlaybookVersionsBody })
  @ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden', 'not_found')
  versions(@Param() { id }: PlaybookIdParams, @Query() query: VersionsQuery): Promise<object> {
    return this.catalogue.versions(id, query.include_disabled === 'true');
  }

  @Get(':id/versions/:version')
  @ApiOperation({ summary: 'Show one version with its procedure', operationId: 'getPlaybookVersion' })
  @ApiOkResponse({ type: PlaybookBody })
  @ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden', 'not_found')
  get(@Param() { id, version }: PlaybookVersionParams): Promise<object> {
    return this.catalogue.get(id, version);
  }

  @Patch(':id/:version/disable')
  @ApiOperation({
    summary: 'Take a version out of search, saying who and why',
    operationId: 'disablePlaybook',
  })
  @ApiOkResponse({ type: PlaybookStatusBody })
  @ApiProblems(
    'invalid_request',
    'database_unavailable',
    'unauthorized',
    'forbidden',
    'not_found',
    'conflict',
  )
  disable(
    @Param() { id, version }: PlaybookVersionParams,
    @Body() body: DisablePlaybookBody,
  ): Promise<object> {
    return this.catalogue.disable(id, version, body.disabled_by, body.disabled_reason);
  }

  @Patch(':id/:version/enable')
  @ApiOperation({ summary: 'Bring a disabled version back into search', operationId: 'enablePlaybook' })
  @ApiOkResponse({ type: PlaybookStatusBody })
  @ApiProblems(
    'invalid_request',
    'database_unavailable',
    'unauthorized',
    'forbidden',
    'not_found',
    'conflict',
  )
  enable(@Param() { id, version }: PlaybookVersionParams, @Body() body: EnablePlaybookBody): Promise<object> {
    return this.catalogue.enable(id, version, body.enabled_by);
  }
}
