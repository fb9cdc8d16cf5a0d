import { Body, Controller, Delete, Get, HttpCode, Module, Param, Patch, Query, Req } from '@nestjs/common';
import { CountersModule } from '../../base/counters/counters.module.js';
import { InvestigationsService } from './investigations.service.js';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { ReasonQuery } from '../../web/auth/audit/audit.dto.js';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import type { Page } from '../../web/rest/page.js';
import {
  InvestigationBudgetView,
  InvestigationPageView,
  InvestigationParams,
  ListInvestigationsQuery,
  RaiseBudgetBody,
} from './investigations.dto.js';

@ApiTags('investigations')
@Scopes('tools:admin')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/investigations')
export class InvestigationsController {
  constructor(private readonly service: InvestigationsService) {}

  @Get()
  @Scopes('metrics:read')
  @ApiOperation({
    summary: 'The investigations that called a tool last, and what they may still spend',
    description: "Those of the key's projects, the latest first, until their budget is whole again.",
  })
  @ApiOkResponse({ type: InvestigationPageView })
  listInvestigations(
    @Query() query: ListInvestigationsQuery,
    @Req() request: FastifyRequest,
  ): Promise<Page<InvestigationBudgetView>> {
    return this.service.list(query, request);
  }

  @Get(':id')
  @Scopes('tools:call')
  @ApiOperation({
    summary: 'What an investigation may still spend',
    description: 'Per tool: the limit, what is left, and when it is forgotten.',
  })
  @ApiOkResponse({ type: InvestigationBudgetView })
  @ApiProblems('not_found')
  getInvestigation(
    @Param() { id }: InvestigationParams,
    @Req() request: FastifyRequest,
  ): Promise<InvestigationBudgetView> {
    return this.service.view(id, request);
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
    @Req() request: FastifyRequest,
  ): Promise<InvestigationBudgetView> {
    return this.service.raise(id, body, request);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Forget what an investigation has spent',
    description: 'It begins anew with the limits that hold for every investigation.',
  })
  @ApiNoContentResponse({ description: 'Its next call finds a whole budget' })
  resetInvestigation(
    @Param() { id }: InvestigationParams,
    @Query() _why: ReasonQuery,
    @Req() request: FastifyRequest,
  ): Promise<void> {
    return this.service.reset(id, request);
  }
}

@Module({
  imports: [CountersModule],
  controllers: [InvestigationsController],
  providers: [InvestigationsService],
  exports: [CountersModule],
})
export class InvestigationsModule {}
