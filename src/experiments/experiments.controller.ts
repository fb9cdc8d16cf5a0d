import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Ip,
  Param,
  Patch,
  Post,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExtraModels,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { CurrentPrincipal, type Principal } from '../auth/principal.decorator.js';
import { CurrentProject } from '../auth/project.decorator.js';
import { Scopes } from '../auth/scopes.decorator.js';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import type { Listed } from '../records/spans/reads/trace-views.dto.js';
import { SpansUpToDateInterceptor } from '../records/spans/ingest/span-ingest.js';
import { ExperimentsService } from './experiments.service.js';
import {
  CallFiguresView,
  ComparisonView,
  CreateExperimentBody,
  EvaluationView,
  ExperimentListView,
  ExperimentParams,
  ExperimentSpanParams,
  ExperimentView,
  ListedExperimentView,
  ListExperimentsQuery,
  RunResultView,
  UpdateExperimentBody,
} from './experiments.dto.js';

@ApiTags('experiments')
@ApiExtraModels(RunResultView, CallFiguresView, ComparisonView)
@Scopes('traces:read')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@ApiHeader({
  name: 'x-project-id',
  required: false,
  description: "One of the key's projects; else the first of them, or `default`",
  schema: { type: 'string', maxLength: 256 },
})
@Controller('api/v1/experiments')
export class ExperimentsController {
  constructor(private readonly service: ExperimentsService) {}

  @Post()
  @Scopes('experiments:write')
  @UseInterceptors(SpansUpToDateInterceptor)
  @ApiOperation({
    summary: 'Make an experiment from the call of a model',
    description:
      "From a span's request, or from one of your own. What the span came to is kept to compare with.",
  })
  @ApiCreatedResponse({ type: ExperimentView })
  @ApiProblems('conflict')
  createExperiment(
    @CurrentProject() project: string,
    @Body() body: CreateExperimentBody,
  ): Promise<ExperimentView> {
    return this.service.create(project, body);
  }

  @Get()
  @ApiOperation({ summary: 'List experiments, newest first', description: 'Without requests and answers.' })
  @ApiOkResponse({ type: ExperimentListView })
  listExperiments(
    @CurrentProject() project: string,
    @Query() query: ListExperimentsQuery,
  ): Promise<Listed<ListedExperimentView>> {
    return this.service.list(project, query);
  }

  @Get('by-span/:id')
  @ApiOperation({
    summary: 'List the experiments made from a span, newest first',
    description: 'As the list of all.',
  })
  @ApiOkResponse({ type: ExperimentListView })
  listExperimentsBySpan(
    @CurrentProject() project: string,
    @Param() { id }: ExperimentSpanParams,
    @Query() query: ListExperimentsQuery,
  ): Promise<Listed<ListedExperimentView>> {
    return this.service.bySpan(project, id, query);
  }

  @Get(':id')
  @ApiOperation({
    summary: 'Show an experiment',
    description: 'With its requests and the answer of its last run.',
  })
  @ApiOkResponse({ type: ExperimentView })
  @ApiProblems('not_found')
  getExperiment(
    @CurrentProject() project: string,
    @Param() { id }: ExperimentParams,
  ): Promise<ExperimentView> {
    return this.service.get(project, id);
  }

  @Patch(':id')
  @Scopes('experiments:write')
  @ApiOperation({
    summary: 'Change an experiment',
    description:
      'Another request, headers, variables or parameters make a draft of it: the last answer goes.',
  })
  @ApiOkResponse({ type: ExperimentView })
  @ApiProblems('not_found', 'conflict')
  updateExperiment(
    @CurrentProject() project: string,
    @Param() { id }: ExperimentParams,
    @Body() body: UpdateExperimentBody,
  ): Promise<ExperimentView> {
    return this.service.update(project, id, body);
  }

  @Delete(':id')
  @Scopes('experiments:write')
  @HttpCode(204)
  @ApiOperation({ summary: 'Delete an experiment', description: 'A run that goes on is ended.' })
  @ApiNoContentResponse({ description: 'It is gone' })
  @ApiProblems('not_found')
  deleteExperiment(@CurrentProject() project: string, @Param() { id }: ExperimentParams): Promise<void> {
    return this.service.delete(project, id);
  }

  @Post(':id/run')
  @Scopes('experiments:write')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Ask the model with the changed request',
    description:
      'Answers when the run is over, after a minute at most: `completed` with `result`, or `failed` with `error`. A caller that leaves does not end it.',
  })
  @ApiOkResponse({ type: ExperimentView })
  @ApiProblems('not_found', 'conflict', 'rate_limited')
  runExperiment(
    @CurrentProject() project: string,
    @Param() { id }: ExperimentParams,
    @CurrentPrincipal() principal: Principal,
    @Ip() address: string,
  ): Promise<ExperimentView> {
    return this.service.run(project, id, { principal, address });
  }

  @Post(':id/cancel')
  @Scopes('experiments:write')
  @HttpCode(200)
  @ApiOperation({ summary: 'End the run that goes on', description: 'The experiment is `failed` then.' })
  @ApiOkResponse({ type: ExperimentView })
  @ApiProblems('not_found', 'conflict')
  cancelExperiment(
    @CurrentProject() project: string,
    @Param() { id }: ExperimentParams,
  ): Promise<ExperimentView> {
    return this.service.cancel(project, id);
  }

  @Get(':id/evaluation')
  @ApiOperation({
    summary: 'Compare the answer of the last run with the original',
    description: 'Cost, tokens and time of both, and the changes in percent.',
  })
  @ApiOkResponse({ type: EvaluationView })
  @ApiProblems('not_found')
  getExperimentEvaluation(
    @CurrentProject() project: string,
    @Param() { id }: ExperimentParams,
  ): Promise<EvaluationView> {
    return this.service.evaluation(project, id);
  }
}
