import {
  Body,
  Get,
  HttpCode,
  Post,
  Query,
  Req,
  applyDecorators,
  type Type,
  Param,
  Patch,
} from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiOperation,
  type ApiBodyOptions,
  type ApiOperationOptions,
} from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { CurrentPrincipal, holderIn } from '../../web/auth/principal.decorator.js';
import { ApiRoutes, Scopes } from '../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import type { Principal } from '../../web/contract/principal.js';
import { PlaybookImportService, yamlTypes } from './import/playbook-import.service.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import * as views from './playbook-views.dto.js';
import { ShownPlaybooks } from './shown/shown-playbooks.js';
import * as bodies from './playbook-bodies.dto.js';
import { PlaybooksRepository, type StatusRow } from './playbooks.repository.js';
import type { transitions } from './playbook-versions.js';

type Schema = Extract<ApiBodyOptions, { schema: unknown }>['schema'];
type Examples = NonNullable<Extract<ApiBodyOptions, { schema: unknown }>['examples']>;

const playbook: Schema = { $ref: '#/components/schemas/CreatePlaybookBody' };

const importBodySchema: Schema = {
  oneOf: [
    playbook,
    { type: 'array', items: playbook },
    {
      type: 'object',
      required: ['playbooks'],
      properties: { playbooks: { type: 'array', items: playbook } },
    },
  ],
};

const retries = {
  playbook_id: 'retry-storm-calm',
  version: '1.0.0',
  name: 'Calm a storm of retries',
  description: 'Clients repeat what fails and keep a service down that has recovered. Caps their retries.',
  labels: { environment: '*' },
  signals: ['retry budget exhausted'],
  content: { kind: 'RemediationPlaybook', steps: [{ name: 'cap', action: 'ReconfigureResource' }] },
};
const cache = {
  playbook_id: 'cache-stampede-damp',
  version: '1.0.0',
  name: 'Damp a cache stampede',
  description: 'A hot key expires and every request asks the database. Refreshes it early, by one of them.',
  labels: { environment: ['staging', 'production'] },
  aliases: ['thundering herd'],
  content: 'steps:\n  - name: refresh early\n',
};

const importExamples: Examples = {
  list: { summary: 'A list', value: [retries, cache] },
  one: { summary: 'One playbook, which is stored already', value: retries },
  wrapped: { summary: 'As this server lists them', value: { playbooks: [cache] } },
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
      'A stored version never changes: a correction is a new version, which must be greater than every stored one ' +
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
    summary: 'Store several versions, all of them or none',
    description:
      'One playbook, a list, or `{"playbooks": [...]}`, at most 1000; as JSON, or as YAML (at most 1 MiB), where ' +
      'documents may also follow each other. What is stored already with the same content is left alone, so that ' +
      'an import can be repeated. If anything is wrong nothing is stored, and `errors` names each wrong field of ' +
      'each playbook by its JSON pointer, such as `/3/version`.',
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
  @ApiOperation({
    summary: 'List what an investigation was shown',
    description:
      'Every playbook that stood in an answer to this investigation, until the investigation expires ' +
      '24 hours after its first call. A selection that is not among them was not made from what was shown.',
  })
  @ApiOkResponse({ type: views.ShownPlaybooksView })
  async listShownPlaybooks(
    @Query() { investigationId }: bodies.ShownQuery,
  ): Promise<views.ShownPlaybooksView> {
    const playbooks = await this.shown.of(investigationId);
    return { investigation_id: investigationId, playbooks, total: playbooks.length };
  }

  @Get()
  @Scopes('tools:call')
  @ApiOperation({
    summary: 'List the latest version of each playbook',
    description: 'Whatever its status, by `playbook_id`, without its procedure.',
  })
  @ApiOkResponse({ type: views.PlaybookPageView })
  listPlaybooks(@Query() { limit, cursor }: bodies.ListPlaybooksQuery): Promise<object> {
    return this.catalogue.list(limit, cursor);
  }
}

/** A route that changes the status of a version. */
const Transition = (
  name: keyof typeof transitions,
  type: Type,
  about: ApiOperationOptions,
): MethodDecorator =>
  applyDecorators(
    Patch(`:id/:version/${name}`),
    ApiOperation(about),
    ApiOkResponse({ type }),
    ApiProblems('conflict'),
  );

/** Routes of one playbook, with the field names of kubernaut's catalogue. */
@ApiRoutes('api/v1/playbooks', 'playbooks', 'playbooks:write')
@ApiProblems('not_found')
export class PlaybookVersionsController {
  constructor(
    private readonly catalogue: PlaybookCatalogueService,
    private readonly repository: PlaybooksRepository,
    private readonly shown: ShownPlaybooks,
  ) {}

  @Get(':id/versions')
  @Scopes('tools:call')
  @ApiOperation({
    summary: 'List the versions of a playbook, newest first',
    description: 'Without disabled ones unless `include_disabled=true`.',
  })
  @ApiOkResponse({ type: views.PlaybookVersionsView })
  listPlaybookVersions(
    @Param() { id }: bodies.PlaybookIdParams,
    @Query() query: bodies.VersionsQuery,
  ): Promise<object> {
    return this.catalogue.versions(id, query.include_disabled);
  }

  @Get(':id/versions/:version')
  @Scopes('tools:call')
  @ApiOperation({
    summary: 'Show one version with its procedure and what became of it',
    description:
      'With `investigationId` it also says whether that investigation was shown this version, and when: a platform ' +
      'can refuse a selection that was not.',
  })
  @ApiOkResponse({ type: views.PlaybookView })
  async getPlaybookVersion(
    @Param() key: bodies.PlaybookVersionParams,
    @Query() { investigationId }: bodies.VersionQuery,
  ): Promise<object> {
    const [row, status_history, shown_to_investigation] = await Promise.all([
      this.catalogue.get(key),
      this.repository.statusHistory(key.id, key.version),
      investigationId === undefined ? undefined : this.shownTo(investigationId, key),
    ]);
    return { ...row, status_history, ...(shown_to_investigation && { shown_to_investigation }) };
  }

  @Get(':id/versions/:from/diff/:to')
  @Scopes('tools:call')
  @ApiOperation({
    summary: 'Compare two versions of a playbook',
    description: 'Every place where what their authors wrote differs. Lists are compared by position.',
  })
  @ApiOkResponse({ type: views.PlaybookDiffView })
  diffPlaybookVersions(@Param() { id, from, to }: bodies.PlaybookDiffParams): Promise<object> {
    return this.catalogue.diff(id, from, to);
  }

  @Post(':id/versions/:version/outcomes')
  @HttpCode(200)
  @Scopes('tools:call')
  @ApiOperation({
    summary: 'Record what came of using a version',
    description:
      'Counts it in the success statistics, at once and for good. With an `execution_id` it counts once, however ' +
      'often it is reported; 409 when it was reported with the other outcome before.',
  })
  @ApiOkResponse({ type: views.PlaybookOutcomeView })
  @ApiProblems('conflict')
  recordPlaybookOutcome(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() { success, execution_id: executionId }: bodies.RecordOutcomeBody,
  ): Promise<object> {
    return this.catalogue.recordOutcome(key, { success, executionId });
  }

  @Transition('disable', views.PlaybookStatusView, {
    summary: 'Take an active version out of search, saying who and why',
    description: 'No older version takes its place. It can be enabled again.',
  })
  async disablePlaybook(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() { disabled_by: by, disabled_reason: reason }: bodies.DisablePlaybookBody,
  ): Promise<object> {
    return statusAnswer(await this.catalogue.setStatus(key, { transition: 'disable', by, reason }));
  }

  @Transition('enable', views.PlaybookStatusView, {
    summary: 'Bring a disabled version back into search',
    description: 'Clears `disabled_*`; the status history keeps them.',
  })
  async enablePlaybook(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() { enabled_by: by, enabled_reason: reason }: bodies.EnablePlaybookBody,
  ): Promise<object> {
    return statusAnswer(await this.catalogue.setStatus(key, { transition: 'enable', by, reason }));
  }

  @Transition('deprecate', views.PlaybookDeprecatedView, {
    summary: 'Take an active version out of search for good, with a notice for those who use it',
    description: 'It stays readable and can only be archived afterwards.',
  })
  async deprecatePlaybook(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() body: bodies.DeprecatePlaybookBody,
  ): Promise<object> {
    const { deprecated_by: by, deprecation_notice: reason } = body;
    const row = await this.catalogue.setStatus(key, { transition: 'deprecate', by, reason });
    return { ...identity(row), deprecated_at: row.updated_at, ...body };
  }

  @Transition('archive', views.PlaybookArchivedView, {
    summary: 'Archive an active or deprecated version',
    description: 'The end of a version: it stays readable, and no status follows.',
  })
  async archivePlaybook(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() body: bodies.ArchivePlaybookBody,
  ): Promise<object> {
    const { archived_by: by, archived_reason: reason } = body;
    const row = await this.catalogue.setStatus(key, { transition: 'archive', by, reason });
    return { ...identity(row), archived_at: row.updated_at, ...body };
  }

  private async shownTo(
    investigation_id: string,
    { id, version }: bodies.PlaybookVersionParams,
  ): Promise<object> {
    const shown = (await this.shown.of(investigation_id)).find(
      (each) => each.playbook_id === id && each.version === version,
    );
    const { first_shown_at = null, last_shown_at = null, times = 0 } = shown ?? {};
    return { investigation_id, shown: shown !== undefined, first_shown_at, last_shown_at, times };
  }
}

const identity = ({ playbook_id, version, status }: StatusRow) => ({ playbook_id, version, status });
const statusAnswer = ({ deprecation_notice: _, updated_at: __, ...answer }: StatusRow): object => answer;
