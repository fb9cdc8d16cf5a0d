import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal } from '../../auth/principal.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import type { Page } from '../../common/page.js';
import { PageQuery } from '../../common/page.dto.js';
import type { Principal } from '../../tool-contract/tool-call.js';
import { CustomToolBody } from './custom-tool.view.js';
import {
  RevisionBody,
  RevisionDiffBody,
  RevisionDiffQuery,
  RevisionListBody,
  RevisionParams,
  type RevisionSummaryBody,
  RollbackInput,
} from './tool-revision.view.js';
import { ToolRevisionsService } from './tool-revisions.service.js';

const ApiName = (): MethodDecorator => ApiParam({ name: 'name', example: 'log_summary' });

@ApiTags('custom-tools')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden', 'not_found')
@Controller('api/v1/custom-tools/:name')
export class ToolRevisionsController {
  constructor(private readonly service: ToolRevisionsService) {}

  @Get('revisions')
  @ApiName()
  @ApiOperation({
    summary: 'List the revisions of a tool, newest first',
    description: 'Each with who made it, how and when, and the hash of its content.',
    operationId: 'listCustomToolRevisions',
  })
  @ApiOkResponse({ type: RevisionListBody })
  list(@Param('name') name: string, @Query() query: PageQuery): Promise<Page<RevisionSummaryBody>> {
    return this.service.list(name, query);
  }

  @Get('revisions/:revision')
  @ApiOperation({
    summary: 'Show one revision',
    description: 'Its configuration as it was; a revision never changes.',
    operationId: 'getCustomToolRevision',
  })
  @ApiOkResponse({ type: RevisionBody })
  get(@Param() params: RevisionParams): Promise<RevisionBody> {
    return this.service.get(params);
  }

  @Get('revisions/:revision/diff')
  @ApiOperation({
    summary: 'Show what a revision changed, field by field',
    description: 'Against the revision before it, or against the one that `against` names.',
    operationId: 'diffCustomToolRevision',
  })
  @ApiOkResponse({ type: RevisionDiffBody })
  diff(@Param() params: RevisionParams, @Query() { against }: RevisionDiffQuery): Promise<RevisionDiffBody> {
    return this.service.diff(params, against);
  }

  @Post('rollback')
  @HttpCode(200)
  @ApiName()
  @ApiOperation({
    summary: "Bring an earlier revision's configuration back, as a new revision",
    description: 'Takes effect as a change does: calls in flight end on the revision they began with.',
    operationId: 'rollBackCustomTool',
  })
  @ApiOkResponse({ type: CustomToolBody })
  @ApiProblems('conflict', 'tool_unavailable')
  rollback(
    @Param('name') name: string,
    @Body() { revision }: RollbackInput,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<CustomToolBody> {
    return this.service.rollback(name, revision, userId);
  }
}
