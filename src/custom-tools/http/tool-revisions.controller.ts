import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Audited } from '../../auth/audit/audited.decorator.js';
import { CurrentPrincipal } from '../../auth/principal.decorator.js';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import type { Page } from '../../common/page.js';
import { PageQuery } from '../../common/shapes.js';
import type { Principal } from '../../tool-contract/principal.js';
import { ApiName, ApiNotGranted } from './api-name.decorator.js';
import { CustomToolView } from './custom-tool.shapes.js';
import {
  RevisionDiffQuery,
  RevisionDiffView,
  RevisionPageView,
  RevisionParams,
  type RevisionSummaryView,
  RevisionView,
  RollbackBody,
} from './tool-revisions.shapes.js';
import { ToolRevisionsService } from './tool-revisions.service.js';

@ApiTags('custom-tools')
@Scopes('metrics:read')
@Audited('name')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden', 'not_found')
@Controller('api/v1/custom-tools/:name')
export class ToolRevisionsController {
  constructor(private readonly service: ToolRevisionsService) {}

  @Get('revisions')
  @ApiName()
  @ApiOperation({
    summary: 'List the revisions of a tool, newest first',
    description: 'Each with who made it, how and when, and the hash of its content.',
  })
  @ApiOkResponse({ type: RevisionPageView })
  listCustomToolRevisions(
    @Param('name') name: string,
    @Query() query: PageQuery,
  ): Promise<Page<RevisionSummaryView>> {
    return this.service.list(name, query);
  }

  @Get('revisions/:revision')
  @ApiOperation({
    summary: 'Show one revision',
    description: 'Its configuration as it was; a revision never changes.',
  })
  @ApiOkResponse({ type: RevisionView })
  getCustomToolRevision(@Param() params: RevisionParams): Promise<RevisionView> {
    return this.service.get(params);
  }

  @Get('revisions/:revision/diff')
  @ApiOperation({
    summary: 'Show what a revision changed, field by field',
    description: 'Against the revision before it, or against the one that `against` names.',
  })
  @ApiOkResponse({ type: RevisionDiffView })
  diffCustomToolRevision(
    @Param() params: RevisionParams,
    @Query() { against }: RevisionDiffQuery,
  ): Promise<RevisionDiffView> {
    return this.service.diff(params, against);
  }

  @Post('rollback')
  @Scopes('tools:admin')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: "Bring an earlier revision's configuration back, as a new revision",
    description: 'Takes effect as a change does: calls in flight end on the revision they began with.',
  })
  @ApiOkResponse({ type: CustomToolView })
  @ApiNotGranted()
  @ApiProblems('conflict', 'tool_unavailable')
  rollBackCustomTool(
    @Param('name') name: string,
    @Body() { revision }: RollbackBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolView> {
    return this.service.rollback(name, revision, userId);
  }
}
