import { Injectable } from '@nestjs/common';
import { CallRates } from '../auth/call-rates.js';
import { invalidRequest, Problem } from '../common/errors.js';
import { newId } from '../common/ids.js';
import { Llm, noLlm } from '../llm/llm.module.js';
import type { Listed, SpanView } from '../records/spans/reads/trace-views.dto.js';
import { isOptimizable } from '../records/spans/reads/span-contents.js';
import { TraceReads } from '../records/spans/reads/trace-reads.js';
import { evaluate } from './evaluation.js';
import { problemsIn, requestProblem } from './experiment-checks.js';
import { ExperimentRuns } from './experiment-runs.js';
import type { Experiment, ListedExperiment, Original } from './experiment.types.js';
import { ExperimentsRepository } from './experiments.repository.js';
import {
  type CreateExperimentBody,
  type EvaluationView,
  type ExperimentView,
  type ListExperimentsQuery,
  type ListedExperimentView,
  type UpdateExperimentBody,
} from './experiments.dto.js';
import { requestOf, resultOf } from './span-call.js';

/** Of one project. */
const mostExperiments = 1_000;

/** Requests of model calls, tried again with changes, and compared. */
@Injectable()
export class ExperimentsService {
  constructor(
    private readonly repository: ExperimentsRepository,
    private readonly runs: ExperimentRuns,
    private readonly spans: TraceReads,
    private readonly llm: Llm,
    private readonly rates: CallRates,
  ) {}

  /** @throws Problem `invalid_request` where there is nothing to start from, `conflict` where there are too many */
  async create(project: string, body: CreateExperimentBody): Promise<ExperimentView> {
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
    return this.get(project, id);
  }

  list(project: string, query: ListExperimentsQuery): Promise<Listed<ListedExperimentView>> {
    return this.listed(project, null, query);
  }

  bySpan(
    project: string,
    spanId: string,
    query: ListExperimentsQuery,
  ): Promise<Listed<ListedExperimentView>> {
    return this.listed(project, spanId, query);
  }

  /** @throws Problem `not_found` */
  async get(project: string, id: string): Promise<ExperimentView> {
    return viewOf(await this.found(project, id));
  }

  /** Members of `modified_request` are merged into it. @throws Problem `not_found`, `conflict` while it runs */
  async update(project: string, id: string, changes: UpdateExperimentBody): Promise<ExperimentView> {
    const { modified_request: members } = changes;
    const merged = members && { ...(await this.found(project, id)).modified_request, ...members };
    const settings = { ...changes, ...(merged && { modified_request: merged }) };
    refuseProblems(settings);
    const changed = await this.repository.change(project, id, settings);
    if (!changed) throw await this.absentOr(project, id, runsNow);
    return this.get(project, id);
  }

  /** @throws Problem `not_found` */
  async delete(project: string, id: string): Promise<void> {
    const deleted = await this.repository.delete(project, id);
    if (!deleted) throw absent(id);
    if (deleted.run_id !== null) this.runs.stop(deleted.run_id);
  }

  /**
   * Counts as a call of its caller.
   * @throws Problem `not_found`, `rate_limited`, `conflict` while it runs or where there is no model to ask
   */
  async run(project: string, id: string, caller: Parameters<CallRates['count']>[0]): Promise<ExperimentView> {
    await this.rates.count(caller);
    const { endpoint } = this.llm;
    if (!endpoint) throw await this.absentOr(project, id, noLlm);
    const ran = await this.runs.run(project, id, endpoint);
    if (!ran) throw await this.absentOr(project, id, runsNow);
    return this.get(project, id);
  }

  /** @throws Problem `not_found`, `conflict` where no run goes on */
  async cancel(project: string, id: string): Promise<ExperimentView> {
    const cancelled = await this.repository.cancel(project, id);
    if (!cancelled) throw await this.absentOr(project, id, 'The experiment does not run');
    if (cancelled.run_id !== null) this.runs.stop(cancelled.run_id);
    return this.get(project, id);
  }

  /** @throws Problem `not_found` */
  async evaluation(project: string, id: string): Promise<EvaluationView> {
    const { original_result: original, result } = await this.found(project, id);
    return evaluate(original, result);
  }

  private async originalOf(project: string, body: CreateExperimentBody): Promise<Original> {
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

  private async listed(
    project: string,
    spanId: string | null,
    page: ListExperimentsQuery,
  ): Promise<Listed<ListedExperimentView>> {
    const { data, pagination } = await this.repository.list(project, spanId, page);
    return { data: data.map(dated), pagination };
  }

  private async found(project: string, id: string): Promise<Experiment> {
    const experiment = await this.repository.find(project, id);
    if (!experiment) throw absent(id);
    return experiment;
  }

  private async absentOr(project: string, id: string, conflict: string): Promise<Problem> {
    const experiment = await this.repository.find(project, id);
    return experiment ? new Problem('conflict', conflict) : absent(id);
  }
}

const runsNow = 'The experiment runs: wait for its end, or cancel it';
const absent = (id: string): Problem => new Problem('not_found', `There is no experiment ${id}`);
const wrong = (pointer: string, detail: string): Problem => invalidRequest({ pointer, detail });

/** @throws Problem `invalid_request` */
function refuseProblems(given: Parameters<typeof problemsIn>[0]): void {
  const problems = problemsIn(given);
  if (problems.length > 0) throw invalidRequest(...problems);
}

const dated = <T extends ListedExperiment>(experiment: T) => ({
  ...experiment,
  created_at: experiment.created_at.toISOString(),
  updated_at: experiment.updated_at.toISOString(),
});

function viewOf({ thread_id: _, original_result: __, ...experiment }: Experiment): ExperimentView {
  return dated(experiment);
}
