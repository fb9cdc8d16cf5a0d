import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../common/api-problems.decorator.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import { PlaybookArchivedView, PlaybookDeprecatedView, PlaybookDiffView, PlaybookOutcomeView, PlaybookStatusView, PlaybookVersionsView, PlaybookView } from './playbook-views.shapes.js';
import { ArchivePlaybookBody, DeprecatePlaybookBody, DisablePlaybookBody, EnablePlaybookBody, PlaybookDiffParams, PlaybookIdParams, PlaybookVersionParams, RecordOutcomeBody, VersionQuery, VersionsQuery } from './playbook-bodies.shapes.js';
import { PlaybookVersionsService } from './playbook-versions.service.js';

/** Routes of one playbook, with the field names of kubernaut's catalogue. */
@ApiTags('playbooks')
@Scopes('playbooks:write')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden', 'not_found')
@Controller('api/v1/playbooks')
export class PlaybookVersionsController {
  constructor(
    private readonly catalogue: PlaybookCatalogueService,
    private readonly versions: PlaybookVersionsService,
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
  getPlaybookVersion(@Param() key: PlaybookVersionParams, @Query() { investigationId }: VersionQuery): Promise<object> {
    return this.versions.get(key, investigationId);
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
  disablePlaybook(@Param() key: PlaybookVersionParams, @Body() body: DisablePlaybookBody): Promise<object> {
    return this.versions.disable(key, body);
  }

  @Patch(':id/:version/enable')
  @ApiOperation({
    summary: 'Bring a disabled version back into search',
    description: 'Clears `disabled_*`; the status history keeps them.',
  })
  @ApiOkResponse({ type: PlaybookStatusView })
  @ApiProblems('conflict')
  enablePlaybook(@Param() key: PlaybookVersionParams, @Body() body: EnablePlaybookBody): Promise<object> {
    return this.versions.enable(key, body);
  }

  @Patch(':id/:version/deprecate')
  @ApiOperation({
    summary: 'Take an active version out of search for good, with a notice for those who use it',
    description: 'It stays readable and can only be archived afterwards.',
  })
  @ApiOkResponse({ type: PlaybookDeprecatedView })
  @ApiProblems('conflict')
  deprecatePlaybook(@Param() key: PlaybookVersionParams, @Body() body: DeprecatePlaybookBody): Promise<object> {
    return this.versions.deprecate(key, body);
  }

  @Patch(':id/:version/archive')
  @ApiOperation({
    summary: 'Archive an active or deprecated version',
    description: 'The end of a version: it stays readable, and no status follows.',
  })
  @ApiOkResponse({ type: PlaybookArchivedView })
  @ApiProblems('conflict')
  archivePlaybook(@Param() key: PlaybookVersionParams, @Body() body: ArchivePlaybookBody): Promise<object> {
    return this.versions.archive(key, body);
  }
}
