import { Body, Controller, Delete, Get, Param, Patch, Query, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { Answers, AnswersNothing } from '../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { ProjectQuery } from '../../web/rest/dto.js';
import type { Page } from '../../web/rest/page.js';
import * as dto from './investigations.dto.js';
import { InvestigationsService } from './investigations.service.js';

@ApiTags('investigations')
@Scopes('tools:admin')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/investigations')
export class InvestigationsController {
  constructor(private readonly service: InvestigationsService) {}

  @Get()
  @Scopes('metrics:read')
  @Answers(
    dto.InvestigationPageView,
    'List the latest investigations and what is left of their budgets',
    "Investigations of the key's projects, newest first, until their budget is reset.",
  )
  listInvestigations(
    @Query() query: dto.ListInvestigationsQuery,
    @Req() request: FastifyRequest,
  ): Promise<Page<dto.InvestigationBudgetView>> {
    return this.service.list(query, request);
  }

  @Get(':id')
  @Scopes('tools:call')
  @Answers(
    dto.InvestigationBudgetView,
    'What an investigation may still spend',
    'The limit and the remaining calls per tool, and the time at which the counts are reset.',
    'not_found',
  )
  getInvestigation(
    @Param() { id }: dto.InvestigationParams,
    @Query() _query: ProjectQuery,
    @Req() request: FastifyRequest,
  ): Promise<dto.InvestigationBudgetView> {
    return this.service.view(id, request);
  }

  @Patch(':id')
  @Answers(
    dto.InvestigationBudgetView,
    "Set an investigation's limits",
    'Limits per tool. Calls that were counted stay counted.',
  )
  raiseInvestigation(
    @Param() { id }: dto.InvestigationParams,
    @Query() _query: ProjectQuery,
    @Body() body: dto.RaiseBudgetBody,
    @Req() request: FastifyRequest,
  ): Promise<dto.InvestigationBudgetView> {
    return this.service.raise(id, body, request);
  }

  @Delete(':id')
  @AnswersNothing(
    'Forget what an investigation has spent',
    'The investigation begins again with the default limits.',
    'Its next call has the full budget',
  )
  resetInvestigation(
    @Param() { id }: dto.InvestigationParams,
    @Query() _query: dto.ResetInvestigationQuery,
    @Req() request: FastifyRequest,
  ): Promise<void> {
    return this.service.reset(id, request);
  }
}
