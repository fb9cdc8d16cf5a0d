import { Body, Get, HttpCode, Post, Query, Req } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiOperation,
  type ApiBodyOptions,
} from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { CurrentPrincipal, holderIn } from '../../web/auth/principal.decorator.js';
import { ApiRoutes, Scopes } from '../../web/auth/scopes.decorator.js';
import { Answers } from '../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import type { Principal } from '../../web/contract/principal.js';
import { PlaybookImportService, yamlTypes } from './import/playbook-import.service.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import * as views from './playbook-views.dto.js';
import { ShownPlaybooks } from './shown/shown-playbooks.js';
import * as bodies from './playbook-bodies.dto.js';

type Schema = Extract<ApiBodyOptions, { schema: unknown }>['schema'];
const playbook: Schema = { $ref: '#/components/schemas/CreatePlaybookBody' };
const playbookList: Schema = { type: 'array', items: playbook };

/** The body of an import: one playbook, a list, or an object with a list. */
const importBodySchema: Schema = {
  oneOf: [
    playbook,
    playbookList,
    { type: 'object', required: ['playbooks'], properties: { playbooks: playbookList } },
  ],
};

const retryPlaybook = {
  playbook_id: 'retry-storm-calm',
  version: '1.0.0',
  name: 'Calm a storm of retries',
  description: 'Clients repeat what fails and keep a service down that has recovered. Caps their retries.',
  labels: { environment: '*' },
  signals: ['retry budget exhausted'],
  content: { kind: 'RemediationPlaybook', steps: [{ name: 'cap', action: 'ReconfigureResource' }] },
};
const cachePlaybook = {
  playbook_id: 'cache-stampede-damp',
  version: '1.0.0',
  name: 'Damp a cache stampede',
  description: 'A hot key expires and every request asks the database. Refreshes it early, by one of them.',
  labels: { environment: ['staging', 'production'] },
  aliases: ['thundering herd'],
  content: 'steps:\n  - name: refresh early\n',
};

const importExamples = {
  list: { summary: 'A list', value: [retryPlaybook, cachePlaybook] },
  one: { summary: 'One playbook, which exists already', value: retryPlaybook },
  wrapped: { summary: "In this server's list format", value: { playbooks: [cachePlaybook] } },
};

/** Routes of the whole catalogue, with the field names of kubernaut's. */
@ApiRoutes('api/v1/playbooks', 'playbooks', 'playbooks:write')
export class PlaybooksController {
  constructor(
    private readonly catalogue: PlaybookCatalogueService,
    private readonly importer: PlaybookImportService,
    private readonly shown: ShownPlaybooks,
  ) {}

  @Post()
  @ApiOperation({
    summary: 'Store a new version of a playbook; it becomes the latest',
    description:
      'Stored versions never change. A correction is a new version, which must be greater than all stored ones ' +
      '(semantic order; `v1.2` and `1.2.0` are the same). Search shows the latest version only.',
  })
  @ApiCreatedResponse({ type: views.PlaybookCreatedView })
  @ApiProblems('conflict', 'payload_too_large')
  createPlaybook(
    @Body() body: bodies.CreatePlaybookBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<object> {
    return this.catalogue.create(body, userId);
  }

  @Post('import')
  @HttpCode(200)
  @ApiConsumes('application/json', ...yamlTypes)
  @ApiOperation({
    summary: 'Store several versions, all or none',
    description:
      'One playbook, a list, or `{"playbooks": [...]}`, at most 1000; as JSON, or as YAML (at most 1 MiB) of one or ' +
      'several documents. Versions that exist with the same content are skipped, so that an import can be repeated. ' +
      'If anything is wrong, nothing is stored, and `errors` names each wrong field of each playbook by its JSON ' +
      'pointer, such as `/3/version`.',
  })
  @ApiBody({ schema: importBodySchema, examples: importExamples })
  @ApiOkResponse({ type: views.PlaybookImportView })
  @ApiProblems('conflict', 'payload_too_large', 'rate_limited')
  importPlaybooks(
    @Body() body: unknown,
    @CurrentPrincipal() { userId }: Principal,
    @Req() request: FastifyRequest,
  ): Promise<object> {
    return this.importer.import(body, userId, holderIn(request));
  }

  @Get('shown')
  @Scopes('tools:call')
  @Answers(
    views.ShownPlaybooksView,
    'List the playbooks that were shown to an investigation',
    'All playbooks in answers to this investigation, until it expires 24 hours after its first call. Other playbooks ' +
      'were not selected from these answers.',
  )
  async listShownPlaybooks(
    @Query() { investigationId }: bodies.ShownQuery,
  ): Promise<views.ShownPlaybooksView> {
    const playbooks = await this.shown.of(investigationId);
    return { investigation_id: investigationId, playbooks, total: playbooks.length };
  }

  @Get()
  @Scopes('tools:call')
  @Answers(
    views.PlaybookPageView,
    'List the latest version of each playbook',
    'With any status, by `playbook_id`, without its procedure.',
  )
  listPlaybooks(@Query() { limit, cursor }: bodies.ListPlaybooksQuery): Promise<object> {
    return this.catalogue.list(limit, cursor);
  }
}
