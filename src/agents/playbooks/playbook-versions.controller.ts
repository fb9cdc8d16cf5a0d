import { applyDecorators, Body, Get, HttpCode, Param, Patch, Post, Query, type Type } from '@nestjs/common';
import { ApiRoutes, Scopes } from '../../web/auth/scopes.decorator.js';
import { Answers } from '../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import * as views from './playbook-views.dto.js';
import { ShownPlaybooks } from './shown/shown-playbooks.js';
import * as bodies from './playbook-bodies.dto.js';
import { PlaybooksRepository, type StatusRow } from './playbooks.repository.js';
import type { transitions } from './playbook-versions.js';

/** Describes a route that changes the status of a version. */
const Transition = (
  name: keyof typeof transitions,
  type: Type,
  summary: string,
  description: string,
): MethodDecorator =>
  applyDecorators(Patch(`:id/:version/${name}`), Answers(type, summary, description, 'conflict'));

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
  @Answers(
    views.PlaybookVersionsView,
    'List the versions of a playbook, newest first',
    'Without disabled ones unless `include_disabled=true`.',
  )
  listPlaybookVersions(
    @Param() { id }: bodies.PlaybookIdParams,
    @Query() query: bodies.VersionsQuery,
  ): Promise<object> {
    return this.catalogue.versions(id, query.include_disabled);
  }

  @Get(':id/versions/:version')
  @Scopes('tools:call')
  @Answers(
    views.PlaybookView,
    'Show one version with its procedure and status history',
    'With `investigationId` also whether and when this version was shown to that investigation, so that a platform ' +
      'can refuse the selection of others.',
  )
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
  @Answers(
    views.PlaybookDiffView,
    'Compare two versions of a playbook',
    "All differences of the authors' fields. Lists are compared by position.",
  )
  diffPlaybookVersions(@Param() { id, from, to }: bodies.PlaybookDiffParams): Promise<object> {
    return this.catalogue.diff(id, from, to);
  }

  @Post(':id/versions/:version/outcomes')
  @HttpCode(200)
  @Scopes('tools:call')
  @Answers(
    views.PlaybookOutcomeView,
    'Record the outcome of using a version',
    'Adds it to the success statistics at once and for good. With an `execution_id` it counts once, even if it is ' +
      'reported again; 409 if it was reported with the other outcome before.',
    'conflict',
  )
  recordPlaybookOutcome(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() { success, execution_id: executionId }: bodies.RecordOutcomeBody,
  ): Promise<object> {
    return this.catalogue.recordOutcome(key, { success, executionId });
  }

  @Transition(
    'disable',
    views.PlaybookStatusView,
    'Remove an active version from search',
    'No older version replaces it. It can be enabled again.',
  )
  async disablePlaybook(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() { disabled_by: by, disabled_reason: reason }: bodies.DisablePlaybookBody,
  ): Promise<object> {
    return statusAnswer(await this.catalogue.setStatus(key, { transition: 'disable', by, reason }));
  }

  @Transition(
    'enable',
    views.PlaybookStatusView,
    'Return a disabled version to search',
    'Clears `disabled_*`; the status history keeps them.',
  )
  async enablePlaybook(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() { enabled_by: by, enabled_reason: reason }: bodies.EnablePlaybookBody,
  ): Promise<object> {
    return statusAnswer(await this.catalogue.setStatus(key, { transition: 'enable', by, reason }));
  }

  @Transition(
    'deprecate',
    views.PlaybookDeprecatedView,
    'Remove an active version from search for good, with a notice for its users',
    'It stays readable and can only be archived afterwards.',
  )
  async deprecatePlaybook(
    @Param() key: bodies.PlaybookVersionParams,
    @Body() body: bodies.DeprecatePlaybookBody,
  ): Promise<object> {
    const { deprecated_by: by, deprecation_notice: reason } = body;
    const row = await this.catalogue.setStatus(key, { transition: 'deprecate', by, reason });
    return { ...identity(row), deprecated_at: row.updated_at, ...body };
  }

  @Transition(
    'archive',
    views.PlaybookArchivedView,
    'Archive an active or deprecated version',
    'The last status of a version, which stays readable.',
  )
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

/** The members that all answers to status changes have. */
const identity = ({ playbook_id, version, status }: StatusRow) => ({ playbook_id, version, status });
/** The answer to a change between active and disabled. */
const statusAnswer = ({
  deprecation_notice: _notice,
  updated_at: _updatedAt,
  ...answer
}: StatusRow): object => answer;
