import { Body, Delete, Get, HttpCode, Ip, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiOperation } from '@nestjs/swagger';
import { CurrentPrincipal, CurrentProject, type Principal } from '../../web/auth/principal.decorator.js';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { SpansUpToDateInterceptor } from '../../records/spans/ingest/span-ingest.js';
import { OfProject } from '../../records/spans/reads/project-routes.decorator.js';
import { Answers, AnswersNothing } from '../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import * as dto from './experiments.dto.js';
import { ExperimentsService } from './experiments.service.js';

/** Experiments: a model call's request, run again with changes and compared. */
@ApiExtraModels(dto.RunResultView, dto.CallFiguresView, dto.ComparisonView)
@OfProject('api/v1/experiments', 'experiments')
export class ExperimentsController {
  constructor(private readonly service: ExperimentsService) {}

  @Post()
  @Scopes('experiments:write')
  @UseInterceptors(SpansUpToDateInterceptor)
  @ApiOperation({
    summary: 'Make an experiment from a model call',
    description:
      "From a span's request, or from your own. The answer and figures of the span are stored for comparison.",
  })
  @ApiCreatedResponse({ type: dto.ExperimentView })
  @ApiProblems('conflict')
  createExperiment(
    @CurrentProject() project: string,
    @Body() body: dto.CreateExperimentBody,
  ): Promise<dto.ExperimentView> {
    return this.service.create(project, body);
  }

  @Get()
  @Answers(dto.ExperimentListView, 'List experiments, newest first', 'Without requests and answers.')
  listExperiments(@CurrentProject() project: string, @Query() query: dto.ListExperimentsQuery) {
    return this.service.list(project, null, query);
  }

  @Get('by-span/:id')
  @Answers(
    dto.ExperimentListView,
    'List the experiments made from a span, newest first',
    'Like the list of all.',
  )
  listExperimentsBySpan(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentSpanParams,
    @Query() query: dto.ListExperimentsQuery,
  ) {
    return this.service.list(project, id, query);
  }

  @Get('by-span/:id/original')
  @UseInterceptors(SpansUpToDateInterceptor)
  @Answers(
    dto.OriginalView,
    'Show the model call that experiments of a span start from',
    "The span's request in OpenAI's form, and its answer with cost, tokens and time. Nothing is stored.",
    'not_found',
  )
  getOriginalOfSpan(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentSpanParams,
    @Query() { trace_id }: dto.OriginalQuery,
  ): Promise<dto.OriginalView> {
    return this.service.original(project, id, trace_id);
  }

  @Get(':id')
  @Answers(
    dto.ExperimentView,
    'Show an experiment',
    'With its requests and the answer of its last run.',
    'not_found',
  )
  getExperiment(@CurrentProject() project: string, @Param() { id }: dto.ExperimentParams) {
    return this.service.get(project, id);
  }

  @Patch(':id')
  @Scopes('experiments:write')
  @Answers(
    dto.ExperimentView,
    'Change an experiment',
    'Merges the members of `modified_request`. A change of the request, headers, variables or parameters makes it a draft and deletes the last answer.',
    'not_found',
    'conflict',
  )
  updateExperiment(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentParams,
    @Body() changes: dto.UpdateExperimentBody,
  ): Promise<dto.ExperimentView> {
    return this.service.update(project, id, changes);
  }

  @Delete(':id')
  @Scopes('experiments:write')
  @AnswersNothing('Delete an experiment', 'Ends its run.', 'Experiment deleted', 'not_found')
  deleteExperiment(@CurrentProject() project: string, @Param() { id }: dto.ExperimentParams): Promise<void> {
    return this.service.delete(project, id);
  }

  @Post(':id/run')
  @Scopes('experiments:write')
  @HttpCode(200)
  @Answers(
    dto.ExperimentView,
    'Ask the model with the changed request',
    'Answers when the run ends, after at most a minute: `completed` with `result`, or `failed` with `error`. The run goes on if the caller leaves.',
    'not_found',
    'conflict',
    'rate_limited',
  )
  runExperiment(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentParams,
    @CurrentPrincipal() principal: Principal,
    @Ip() address: string,
  ): Promise<dto.ExperimentView> {
    return this.service.run(project, id, { principal, address });
  }

  @Post(':id/cancel')
  @Scopes('experiments:write')
  @HttpCode(200)
  @Answers(dto.ExperimentView, 'Cancel the run', 'The experiment becomes `failed`.', 'not_found', 'conflict')
  cancelExperiment(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentParams,
  ): Promise<dto.ExperimentView> {
    return this.service.cancel(project, id);
  }

  @Get(':id/evaluation')
  @Answers(
    dto.EvaluationView,
    'Compare the answer of the last run with the original',
    'Cost, tokens and time of both, and the changes in percent.',
    'not_found',
  )
  getExperimentEvaluation(@CurrentProject() project: string, @Param() { id }: dto.ExperimentParams) {
    return this.service.evaluation(project, id);
  }
}
