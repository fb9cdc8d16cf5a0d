import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import type { StatusRow } from './playbook.rows.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import {
  PlaybookArchivedView,
  PlaybookDeprecatedView,
  PlaybookDiffView,
  PlaybookOutcomeView,
  PlaybookStatusView,
  PlaybookVersionsView,
  PlaybookView,
} from './playbook-views.dto.js';
import {
  ArchivePlaybookBody,
  DeprecatePlaybookBody,
  DisablePlaybookBody,
  EnablePlaybookBody,
  PlaybookDiffParams,
  PlaybookIdParams,
  PlaybookVersionParams,
  RecordOutcomeBody,
  VersionQuery,
  VersionsQuery,
} from './playbook-bodies.dto.js';
import { PlaybooksRepository } from './playbooks.repository.js';
import { ShownPlaybooks } from './shown/shown-playbooks.js';

/** Routes of one playbook, with the field names of kubernaut's catalogue. */
@ApiTags('playbooks')
@Scopes('playbooks:write')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden', 'not_found')
@Controller('api/v1/playbooks')
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
  @ApiOkResponse({ type: PlaybookVersionsView })
  listPlaybookVersions(@Param() { id }: PlaybookIdParams, @Query() query: VersionsQuery): Promise<object> {
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
  @ApiOkResponse({ type: PlaybookView })
  async getPlaybookVersion(
    @Param() key: PlaybookVersionParams,
    @Query() { investigationId }: VersionQuery,
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
  @ApiOkResponse({ type: PlaybookDiffView })
  diffPlaybookVersions(@Param() { id, from, to }: PlaybookDiffParams): Promise<object> {
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
  @ApiOkResponse({ type: PlaybookOutcomeView })
  @ApiProblems('conflict')
  recordPlaybookOutcome(
    @Param() key: PlaybookVersionParams,
    @Body() { success, execution_id: executionId }: RecordOutcomeBody,
  ): Promise<object> {
    return this.catalogue.recordOutcome(key, { success, executionId });
  }

  @Patch(':id/:version/disable')
  @ApiOperation({
    summary: 'Take an active version out of search, saying who and why',
    description: 'No older version takes its place. It can be enabled again.',
  })
  @ApiOkResponse({ type: PlaybookStatusView })
  @ApiProblems('conflict')
  async disablePlaybook(
    @Param() key: PlaybookVersionParams,
    @Body() body: DisablePlaybookBody,
  ): Promise<object> {
    const { disabled_by: by, disabled_reason: reason } = body;
    return statusAnswer(await this.catalogue.setStatus(key, { transition: 'disable', by, reason }));
  }

  @Patch(':id/:version/enable')
  @ApiOperation({
    summary: 'Bring a disabled version back into search',
    description: 'Clears `disabled_*`; the status history keeps them.',
  })
  @ApiOkResponse({ type: PlaybookStatusView })
  @ApiProblems('conflict')
  async enablePlaybook(
    @Param() key: PlaybookVersionParams,
    @Body() body: EnablePlaybookBody,
  ): Promise<object> {
    const { enabled_by: by, enabled_reason: reason } = body;
    return statusAnswer(await this.catalogue.setStatus(key, { transition: 'enable', by, reason }));
  }

  @Patch(':id/:version/deprecate')
  @ApiOperation({
    summary: 'Take an active version out of search for good, with a notice for those who use it',
    description: 'It stays readable and can only be archived afterwards.',
  })
  @ApiOkResponse({ type: PlaybookDeprecatedView })
  @ApiProblems('conflict')
  async deprecatePlaybook(
    @Param() key: PlaybookVersionParams,
    @Body() body: DeprecatePlaybookBody,
  ): Promise<object> {
    const { deprecated_by, deprecation_notice } = body;
    const change = { transition: 'deprecate', by: deprecated_by, reason: deprecation_notice } as const;
    const { playbook_id, version, status, updated_at } = await this.catalogue.setStatus(key, change);
    return { playbook_id, version, status, deprecated_at: updated_at, deprecated_by, deprecation_notice };
  }

  @Patch(':id/:version/archive')
  @ApiOperation({
    summary: 'Archive an active or deprecated version',
    description: 'The end of a version: it stays readable, and no status follows.',
  })
  @ApiOkResponse({ type: PlaybookArchivedView })
  @ApiProblems('conflict')
  async archivePlaybook(
    @Param() key: PlaybookVersionParams,
    @Body() body: ArchivePlaybookBody,
  ): Promise<object> {
    const { archived_by, archived_reason } = body;
    const change = { transition: 'archive', by: archived_by, reason: archived_reason } as const;
    const { playbook_id, version, status, updated_at } = await this.catalogue.setStatus(key, change);
    return { playbook_id, version, status, archived_at: updated_at, archived_by, archived_reason };
  }

  private async shownTo(investigation_id: string, { id, version }: PlaybookVersionParams): Promise<object> {
    const shown = (await this.shown.of(investigation_id)).find(
      (each) => each.playbook_id === id && each.version === version,
    );
    const { first_shown_at = null, last_shown_at = null, times = 0 } = shown ?? {};
    return { investigation_id, shown: shown !== undefined, first_shown_at, last_shown_at, times };
  }
}

const statusAnswer = ({ deprecation_notice: _, updated_at: __, ...answer }: StatusRow): object => answer;
