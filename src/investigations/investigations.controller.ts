import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Query } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ReasonQuery } from '../auth/audit/audit.shapes.js';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../common/api-problems.decorator.js';
import type { Page } from '../common/page.js';
import {
  InvestigationBudgetView,
  InvestigationPageView,
  InvestigationParams,
  ListInvestigationsQuery,
  RaiseBudgetBody,
} from './investigations.shapes.js';
import { InvestigationsService } from './investigations.service.js';

@ApiTags('investigations')
@Scopes('tools:admin')
@ApiProblems('invalid_request', 'unauthorized', 'forbidden')
@Controller('api/v1/investigations')
export class InvestigationsController {
  constructor(private readonly service: InvestigationsService) {}

  @Get()
  @Scopes('metrics:read')
  @ApiOperation({
    summary: 'The investigations that called a tool last, and what they may still spend',
    description:
      'The latest first, as this server remembers them: since its start, and until their budget is whole again.',
  })
  @ApiOkResponse({ type: InvestigationPageView })
  listInvestigations(@Query() query: ListInvestigationsQuery): Promise<Page<InvestigationBudgetView>> {
    return this.service.list(query);
  }

  @Get(':id')
  @Scopes('tools:call')
  @ApiOperation({
    summary: 'What an investigation may still spend',
    description: 'Per tool: the limit, what is left, and when it is forgotten.',
  })
  @ApiOkResponse({ type: InvestigationBudgetView })
  @ApiProblems('not_found')
  getInvestigation(@Param() { id }: InvestigationParams): Promise<InvestigationBudgetView> {
    return this.service.view(id);
  }

  @Patch(':id')
  @ApiOperation({
    summary: "Set an investigation's limits",
    description: 'Per tool; what was spent stays spent.',
  })
  @ApiOkResponse({ type: InvestigationBudgetView })
  raiseInvestigation(
    @Param() { id }: InvestigationParams,
    @Body() body: RaiseBudgetBody,
  ): Promise<InvestigationBudgetView> {
    return this.service.raise(id, body);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Forget what an investigation has spent',
    description: 'It begins anew with the limits that hold for every investigation.',
  })
  @ApiNoContentResponse({ description: 'Its next call finds a whole budget' })
  resetInvestigation(@Param() { id }: InvestigationParams, @Query() _why: ReasonQuery): Promise<void> {
    return this.service.reset(id);
  }
}
