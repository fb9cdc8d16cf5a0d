import { Body, Delete, Get, HttpCode, Ip, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiNoContentResponse, ApiOperation } from '@nestjs/swagger';
import { CallRates } from '../auth/call-rates.js';
import { CurrentPrincipal, type Principal } from '../auth/principal.decorator.js';
import { CurrentProject } from '../auth/principal.decorator.js';
import { Scopes } from '../auth/scopes.decorator.js';
import { Problem } from '../common/errors.js';
import { newId } from '../common/ids.js';
import { Llm, noLlm } from '../llm/llm.module.js';
import { SpansUpToDateInterceptor } from '../records/spans/ingest/span-ingest.js';
import { Answers, OfProject } from '../records/spans/reads/answers.decorator.js';
import { isOptimizable } from '../records/spans/ingest/span-texts.js';
import { TraceReads } from '../records/spans/reads/trace-reads.js';
import type { SpanView } from '../records/spans/reads/trace-views.dto.js';
import { ApiProblems } from '../rest/api-problems.decorator.js';
import { wrong } from '../rest/wrong-field.js';
import { evaluate } from './evaluation.js';
import { refuseProblems, requestProblem } from './experiment-checks.js';
import { ExperimentRuns } from './experiment-runs.js';
import * as dto from './experiments.dto.js';
import { type Experiment, ExperimentsRepository } from './experiments.repository.js';
import { requestOf, resultOf } from './span-call.js';

/** Of one project. */
const mostExperiments = 1_000;

/** Requests of model calls, tried again with changes, and compared. */
@ApiExtraModels(dto.RunResultView, dto.CallFiguresView, dto.ComparisonView)
@OfProject('api/v1/experiments', 'experiments')
export class ExperimentsController {
  constructor(
    private readonly repository: ExperimentsRepository,
    private readonly runs: ExperimentRuns,
    private readonly spans: TraceReads,
    private readonly llm: Llm,
    private readonly rates: CallRates,
  ) {}

  @Post()
  @Scopes('experiments:write')
  @UseInterceptors(SpansUpToDateInterceptor)
  @ApiOperation({
    summary: 'Make an experiment from the call of a model',
    description:
      "From a span's request, or from one of your own. What the span came to is kept to compare with.",
  })
  @ApiCreatedResponse({ type: dto.ExperimentView })
  @ApiProblems('conflict')
  async createExperiment(
    @CurrentProject() project: string,
    @Body() body: dto.CreateExperimentBody,
  ): Promise<dto.ExperimentView> {
    refuseProblems(body);
    const original = await this.originalOf(project, body);
    if ((await this.repository.count(project)) >= mostExperiments)
      throw new Problem(
        'conflict',
        `The project ${project} has ${mostExperiments} experiments, as many as are kept: delete some`,
      );
    const id = newId();
    await this.repository.create(id, project, {
      ...original,
      name: body.name,
      description: body.description ?? null,
      modified_request: body.modified_request ?? original.original_request,
      headers: body.headers ?? {},
      prompt_variables: body.prompt_variables ?? {},
      model_parameters: body.model_parameters ?? {},
    });
    return this.shown(project, id);
  }

  @Get()
  @Answers(dto.ExperimentListView, 'List experiments, newest first', 'Without requests and answers.')
  listExperiments(@CurrentProject() project: string, @Query() query: dto.ListExperimentsQuery) {
    return this.repository.list(project, null, query);
  }

  @Get('by-span/:id')
  @Answers(
    dto.ExperimentListView,
    'List the experiments made from a span, newest first',
    'As the list of all.',
  )
  listExperimentsBySpan(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentSpanParams,
    @Query() query: dto.ListExperimentsQuery,
  ) {
    return this.repository.list(project, id, query);
  }

  @Get(':id')
  @Answers(
    dto.ExperimentView,
    'Show an experiment',
    'With its requests and the answer of its last run.',
    'not_found',
  )
  getExperiment(@CurrentProject() project: string, @Param() { id }: dto.ExperimentParams) {
    return this.shown(project, id);
  }

  /** Members of `modified_request` are merged into it. */
  @Patch(':id')
  @Scopes('experiments:write')
  @Answers(
    dto.ExperimentView,
    'Change an experiment',
    'Another request, headers, variables or parameters make a draft of it: the last answer goes.',
    'not_found',
    'conflict',
  )
  async updateExperiment(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentParams,
    @Body() changes: dto.UpdateExperimentBody,
  ): Promise<dto.ExperimentView> {
    const { modified_request: members } = changes;
    const merged = members && { ...(await this.found(project, id)).modified_request, ...members };
    const settings = { ...changes, ...(merged && { modified_request: merged }) };
    refuseProblems(settings);
    if (!(await this.repository.change(project, id, settings)))
      throw await this.absentOr(project, id, runsNow);
    return this.shown(project, id);
  }

  @Delete(':id')
  @Scopes('experiments:write')
  @HttpCode(204)
  @ApiOperation({ summary: 'Delete an experiment', description: 'A run that goes on is ended.' })
  @ApiNoContentResponse({ description: 'It is gone' })
  @ApiProblems('not_found')
  async deleteExperiment(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentParams,
  ): Promise<void> {
    const deleted = await this.repository.delete(project, id);
    if (!deleted) throw absent(id);
    if (deleted.run_id !== null) this.runs.stop(deleted.run_id);
  }

  /** Counts as a call of its caller. */
  @Post(':id/run')
  @Scopes('experiments:write')
  @HttpCode(200)
  @Answers(
    dto.ExperimentView,
    'Ask the model with the changed request',
    'Answers when the run is over, after a minute at most: `completed` with `result`, or `failed` with `error`. A caller that leaves does not end it.',
    'not_found',
    'conflict',
    'rate_limited',
  )
  async runExperiment(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentParams,
    @CurrentPrincipal() principal: Principal,
    @Ip() address: string,
  ): Promise<dto.ExperimentView> {
    await this.rates.count({ principal, address });
    const { endpoint } = this.llm;
    if (!endpoint) throw await this.absentOr(project, id, noLlm);
    if (!(await this.runs.run(project, id, endpoint))) throw await this.absentOr(project, id, runsNow);
    return this.shown(project, id);
  }

  @Post(':id/cancel')
  @Scopes('experiments:write')
  @HttpCode(200)
  @Answers(
    dto.ExperimentView,
    'End the run that goes on',
    'The experiment is `failed` then.',
    'not_found',
    'conflict',
  )
  async cancelExperiment(
    @CurrentProject() project: string,
    @Param() { id }: dto.ExperimentParams,
  ): Promise<dto.ExperimentView> {
    const cancelled = await this.repository.cancel(project, id);
    if (!cancelled) throw await this.absentOr(project, id, 'The experiment does not run');
    if (cancelled.run_id !== null) this.runs.stop(cancelled.run_id);
    return this.shown(project, id);
  }

  @Get(':id/evaluation')
  @Answers(
    dto.EvaluationView,
    'Compare the answer of the last run with the original',
    'Cost, tokens and time of both, and the changes in percent.',
    'not_found',
  )
  async getExperimentEvaluation(@CurrentProject() project: string, @Param() { id }: dto.ExperimentParams) {
    const { original_result: original, result } = await this.found(project, id);
    return evaluate(original, result);
  }

  private async originalOf(project: string, body: dto.CreateExperimentBody): Promise<dto.Original> {
    const { original_request: given } = body;
    if (body.original_span_id === undefined) {
      if (!given) throw wrong('/original_request', 'is required where no original_span_id is given');
      return {
        original_span_id: null,
        original_trace_id: null,
        original_request: given,
        original_result: null,
        thread_id: null,
      };
    }
    const span = await this.spanOf(project, body.original_span_id, body.original_trace_id);
    const request = given ?? requestOf(span);
    if (!request)
      throw wrong(
        '/original_span_id',
        'names a span without its whole request: give that as original_request',
      );
    const problem = requestProblem(request);
    if (problem) throw wrong('/original_span_id', `names a span whose request ${problem}`);
    return {
      original_span_id: span.span_id,
      original_trace_id: span.trace_id,
      original_request: request,
      original_result: resultOf(span),
      thread_id: span.thread_id,
    };
  }

  /** The call of a model that is meant. */
  private async spanOf(project: string, id: string, traceId: string | undefined): Promise<SpanView> {
    const filter = { project, spanIds: [id], ...(traceId !== undefined && { traceIds: [traceId] }) };
    const { data } = await this.spans.spans(filter, { limit: 2, offset: 0 });
    const [span, another] = data.filter(({ span_id: found }) => found === id);
    if (!span) throw wrong('/original_span_id', 'must be a span of this project');
    if (another) throw wrong('/original_trace_id', 'is required: the span occurs in several traces');
    if (!isOptimizable(span)) throw wrong('/original_span_id', 'must be the call of a model');
    return span;
  }

  private async shown(project: string, id: string): Promise<dto.ExperimentView> {
    const { thread_id: _, original_result: __, ...experiment } = await this.found(project, id);
    return experiment;
  }

  private async found(project: string, id: string): Promise<Experiment> {
    const experiment = await this.repository.find(project, id);
    if (!experiment) throw absent(id);
    return experiment;
  }

  private async absentOr(project: string, id: string, conflict: string): Promise<Problem> {
    await this.found(project, id);
    return new Problem('conflict', conflict);
  }
}

const runsNow = 'The experiment runs: wait for its end, or cancel it';
const absent = (id: string): Problem => new Problem('not_found', `There is no experiment ${id}`);
